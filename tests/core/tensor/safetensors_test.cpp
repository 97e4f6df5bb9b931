// SPDX-License-Identifier: Apache-2.0
#include "plab/tensor/safetensors.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "plab/base/error.h"
#include "plab/os/file.h"
#include "plab/os/temp.h"
#include "reference.h"
#include "support/python.h"

namespace plab {

using Catch::Matchers::ContainsSubstring;

namespace {

// A file from its header's text and the bytes after it.
std::string file_of(std::string_view header, std::string_view data = "") {
  const std::uint64_t length = header.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &length, 8);
  out += header;
  out += data;
  return out;
}

SafeTensors parse(std::string_view bytes) {
  return parse_safetensors(std::as_bytes(std::span(bytes)), "model.st");
}

SafeTensors sample(Generator& g) {
  SafeTensors out;
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kI32, DType::kI64, DType::kU8,
                            DType::kBool, DType::kF16, DType::kBF16}) {
    const std::string name(name_of(dtype));
    out.tensors[name] = test::random_view(g, {3, 2}, dtype);
    out.tensors[name + ".scalar"] = test::random_values(g, {}, dtype);
  }
  out.tensors["empty"] = Tensor::empty({0, 4});
  out.tensors["layer.0.weight \"quoted\" \xc3\xa4"] = Tensor::arange(5);
  out.metadata = {{"made by", "plab"}, {"epoch", "3"}};
  return out;
}

}  // namespace

TEST_CASE("What is saved is loaded, from any layout and in any dtype", "[tensor]") {
  Generator g(91);
  const os::TempFolder folder;
  const auto path = folder.path() / "model.safetensors";
  const SafeTensors saved = sample(g);
  save_safetensors(path, saved);
  const SafeTensors loaded = load_safetensors(path);
  CHECK(loaded.metadata == saved.metadata);
  REQUIRE(loaded.tensors.size() == saved.tensors.size());
  for (const auto& [name, tensor] : saved.tensors) {
    INFO(name);
    CHECK(equal(loaded.tensors.at(name), tensor));
    CHECK(loaded.tensors.at(name).is_contiguous());
  }
  save_safetensors(path, {});  // replaces
  CHECK(load_safetensors(path).tensors.empty());
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("The data begins at a multiple of eight and each tensor at one of its element",
          "[tensor]") {
  const os::TempFolder folder;
  const auto path = folder.path() / "m";
  SafeTensors content;
  content.tensors["a"] = Tensor::ones({3}, DType::kU8);
  content.tensors["b"] = Tensor::ones({3}, DType::kF64);
  content.tensors["c"] = Tensor::ones({3}, DType::kF16);
  save_safetensors(path, content);
  const std::string bytes = os::read_file(path);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  CHECK(length % 8 == 0);
  CHECK(bytes.find("\"b\":{\"data_offsets\":[0,24]") != std::string::npos);
  CHECK(bytes.find("\"c\":{\"data_offsets\":[24,30]") != std::string::npos);
}

TEST_CASE("A file of Python's package is read", "[tensor]") {
  // safetensors 0.4: {"w": F32 [2, 2], "n": I64 []} with metadata
  const float w[] = {1.5F, -2, 0.25F, 3};
  const std::int64_t n = 7;
  std::string data(reinterpret_cast<const char*>(&n), 8);
  data.append(reinterpret_cast<const char*>(w), 16);
  const SafeTensors content = parse(file_of(
      R"({"__metadata__":{"format":"np"},"n":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
      R"("w":{"dtype":"F32","shape":[2,2],"data_offsets":[8,24]}}   )",
      data));
  CHECK(content.metadata.at("format") == "np");
  CHECK(content.tensors.at("n").item<int>() == 7);
  CHECK(content.tensors.at("w").to_vector<float>() == std::vector<float>{1.5F, -2, 0.25F, 3});
}

TEST_CASE("Each kind of damage is named with the file and the tensor", "[tensor]") {
  const auto refused = [](const std::string& bytes, const std::string& reason) {
    INFO(reason);
    CHECK_THROWS_AS(parse(bytes), CorruptError);
    CHECK_THROWS_WITH(parse(bytes), ContainsSubstring(reason) && ContainsSubstring("model.st"));
  };
  const auto entry = [](std::string_view fields, std::string_view data = "12345678") {
    return file_of("{\"w\":{" + std::string(fields) + "}}", data);
  };
  refused("", "0 bytes");
  refused("1234567", "7 bytes");
  refused(std::string("\xff\xff\xff\xff\xff\xff\xff\xff", 8), "18446744073709551615");
  refused(std::string("\x09\0\0\0\0\0\0\0{}", 10), "header of 9 bytes in a file of 10");
  refused(file_of("{]"), "not JSON");
  refused(file_of(""), "not JSON");
  refused(file_of("{\"\xff\":1}"), "not JSON");
  refused(file_of("[]"), "not a JSON object");
  refused(file_of("{}", "x"), "1 bytes follow");
  refused(file_of("{\"w\":1}"), "tensor \"w\"");
  refused(file_of(R"({"w":{},"w":{}})"), "twice");
  refused(file_of(R"({"w":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})"),
          "twice");
  refused(file_of(std::string(100'000, '[')), "nested");
  refused(file_of("{\"a\":" + std::string(100'000, '[')), "nested");
  refused(file_of(R"({"__metadata__":3})"), "__metadata__");
  refused(file_of(R"({"__metadata__":{"a":1}})"), "not text");
  refused(entry(R"("shape":[1],"data_offsets":[0,8])"), "dtype is missing");
  refused(entry(R"("dtype":"C64","shape":[1],"data_offsets":[0,8])"), "C64");
  refused(entry(R"("dtype":3,"shape":[1],"data_offsets":[0,8])"), "unknown");
  refused(entry(R"("dtype":"F64","shape":8,"data_offsets":[0,8])"), "shape");
  refused(entry(R"("dtype":"F64","shape":[-1],"data_offsets":[0,8])"), "size");
  refused(entry(R"("dtype":"F64","shape":[1.5],"data_offsets":[0,8])"), "size");
  refused(entry(R"("dtype":"F64","shape":[18446744073709551615],"data_offsets":[0,8])"), "size");
  refused(entry(R"("dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,8])"),
          "not what");
  refused(entry(R"("dtype":"U8","shape":[9223372036854775807,2],"data_offsets":[0,8])"),
          "not what");
  refused(entry(R"("dtype":"F64","shape":[2],"data_offsets":[0,8])"), "8 bytes are not what");
  refused(entry(R"("dtype":"F64","shape":[0],"data_offsets":[0,8])"), "not what");
  refused(entry(R"("dtype":"I32","shape":[1],"data_offsets":[0,5])", "12345"), "not what");
  refused(entry(R"("dtype":"F64","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,8])"), "9 dim");
  refused(entry(R"("dtype":"F64","shape":[1],"data_offsets":[0,16])"), "not in the 8");
  refused(entry(R"("dtype":"F64","shape":[1],"data_offsets":[8,0])"), "not in the 8");
  refused(entry(R"("dtype":"F64","shape":[1],"data_offsets":[0])"), "data_offsets");
  refused(entry(R"("dtype":"F64","shape":[1],"data_offsets":[0,-8])"), "data_offsets");
  refused(entry(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"), "begins at byte 4");
  refused(entry(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])"), "4 bytes follow");
  refused(entry(R"("dtype":"F64","shape":[1],"data_offsets":[0,8],"x":1)"), "unknown field");
  refused(entry(R"("dtype":"BOOL","shape":[8],"data_offsets":[0,8])"), "not 0 or 1");
  refused(file_of(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                  R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                  "123"),
          "another ends");
}

TEST_CASE("Files that cannot be read or written are errors of the system", "[tensor]") {
  const os::TempFolder folder;
  CHECK_THROWS_AS(load_safetensors(folder.path() / "missing"), SystemError);
  CHECK_THROWS_AS(load_safetensors(folder.path()), SystemError);
  SafeTensors content;
  content.tensors["a"] = Tensor::ones({2});
  CHECK_THROWS_AS(save_safetensors(folder.path() / "no" / "folder", content), SystemError);
  content.metadata["\xff"] = "x";
  CHECK_THROWS_AS(save_safetensors(folder.path() / "m", content), ContractError);
  content.metadata.clear();
  content.tensors["b"] = Tensor();
  CHECK_THROWS_AS(save_safetensors(folder.path() / "m", content), ContractError);
  content.tensors.erase("b");
  content.tensors["__metadata__"] = Tensor::ones({1});
  CHECK_THROWS_AS(save_safetensors(folder.path() / "m", content), ContractError);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("100,000 mutated files are read or refused, with little memory", "[tensor][fuzz]") {
  Generator g(92);
  const os::TempFolder folder;
  save_safetensors(folder.path() / "m", sample(g));
  const std::string good = os::read_file(folder.path() / "m");
  std::uint64_t header = 0;
  std::memcpy(&header, good.data(), 8);
  constexpr std::string_view kTokens[] = {"[",
                                          "]",
                                          "{",
                                          "}",
                                          ",",
                                          ":",
                                          "\"",
                                          "-1",
                                          "0",
                                          "9223372036854775807",
                                          "18446744073709551615",
                                          "1e999",
                                          "null",
                                          "F32",
                                          "I64",
                                          "BOOL",
                                          "dtype",
                                          "shape",
                                          "data_offsets",
                                          "__metadata__"};
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  int fine = 0;
  int refused = 0;
  for (int round = 0; round < 100'000; ++round) {
    std::string bytes = good;
    const std::int64_t changes = 1 + test::below(g, 3);
    for (std::int64_t c = 0; c < changes; ++c) {
      const auto limit = static_cast<std::int64_t>(
          test::below(g, 8) == 0 ? bytes.size() : std::min(bytes.size(), header + 8));
      if (limit == 0) break;
      const auto at = static_cast<std::size_t>(test::below(g, limit));
      switch (test::below(g, 5)) {
        case 0:
          bytes[at] = static_cast<char>(test::below(g, 256));
          break;
        case 1:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << test::below(g, 8)));
          break;
        case 2:
          bytes.resize(at);
          break;
        case 3:
          bytes.insert(at, kTokens[test::below(g, std::size(kTokens))]);
          break;
        default:
          bytes.erase(at, static_cast<std::size_t>(1 + test::below(g, 20)));
          break;
      }
    }
    try {
      const SafeTensors content = parse(bytes);
      std::size_t held = 0;
      for (const auto& [name, tensor] : content.tensors) held += tensor.storage().bytes();
      REQUIRE(held <= bytes.size());
      ++fine;
    } catch (const CorruptError&) {
      ++refused;
    }
  }
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  CHECK(fine + refused == 100'000);
  CHECK(fine > 100);
  CHECK(refused > 10'000);
#if !defined(__SANITIZE_ADDRESS__)
  CHECK(after.ru_maxrss - before.ru_maxrss < 64 * 1024);  // KiB
#endif
}

TEST_CASE("Python's package and plab read each other's files", "[tensor][twin]") {
  if (!test::python_has("numpy, safetensors.numpy")) {
    SKIP("Python's package safetensors is not installed");
  }
  Generator g(93);
  const os::TempFolder folder;
  SafeTensors content = sample(g);
  content.tensors.erase("bfloat16");  // NumPy has no such type
  content.tensors.erase("bfloat16.scalar");
  save_safetensors(folder.path() / "ours", content);
  std::ofstream(folder.path() / "copy.py")
      << "import sys\nimport numpy as np\nfrom safetensors import safe_open\nfrom "
         "safetensors.numpy import save_file\n"
         "with safe_open(sys.argv[1], 'np') as f:\n"
         "    t = {k: f.get_tensor(k) for k in f.keys()}\n    m = f.metadata()\n"
         "save_file({k: np.asarray(v + v) if v.dtype.kind == 'f' else v for k, v in t.items()}, "
         "sys.argv[2], "
         "metadata=m)\n";
  const std::string path = folder.path().string();
  REQUIRE(test::run_python({path + "/copy.py", path + "/ours", path + "/theirs"}).success());
  const SafeTensors back = load_safetensors(folder.path() / "theirs");
  CHECK(back.metadata == content.metadata);
  REQUIRE(back.tensors.size() == content.tensors.size());
  for (const auto& [name, tensor] : content.tensors) {
    INFO(name);
    Tensor expected = tensor;
    if (tensor.dtype() == DType::kF16) {
      expected = (tensor.to(DType::kF32) * 2).to(DType::kF16);
    } else if (is_floating(tensor.dtype())) {
      expected = tensor * 2;
    }
    CHECK(equal(back.tensors.at(name), expected));
  }
}

}  // namespace plab
