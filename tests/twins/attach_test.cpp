// SPDX-License-Identifier: Apache-2.0
// A stranger that knows only the name: it sees the tensor's bytes from the first on, both ways.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <filesystem>

#include "plab/os/temp.h"
#include "plab/shm/strategy.h"
#include "plab/tensor/tensor.h"
#include "support/leak_audit.h"
#include "support/python.h"
#include "twins/python.h"

namespace plab {
namespace {

class NamedStrategy {
 public:
  NamedStrategy() { shm::set_sharing_strategy(shm::Strategy::kFileSystem); }
  ~NamedStrategy() { shm::set_sharing_strategy(before_); }
  NamedStrategy(const NamedStrategy&) = delete;
  NamedStrategy& operator=(const NamedStrategy&) = delete;

 private:
  shm::Strategy before_ = shm::sharing_strategy();
};

TEST_CASE("PyTorch and NumPy attach to a named shared tensor and see writes both ways", "[twin]") {
  const std::string library = GENERATE("torch", "numpy");
  if (!test::python_has(library)) SKIP("Python has no module " + library + " here");
  const test::LeakAudit audit;
  std::string path;
  {
    const NamedStrategy named;
    constexpr std::int64_t kCount = 1003;
    const Tensor tensor = Tensor::empty({17, 59}, DType::kF64);
    REQUIRE(tensor.numel() == kCount);
    double* values = tensor.data<double>();
    for (std::int64_t i = 0; i < kCount; ++i) values[i] = 0.25 * static_cast<double>(i * i % 701);
    tensor.share_memory();
    values = tensor.data<double>();  // the bytes moved
    path = "/dev/shm" + tensor.storage().block().name();
    test::Python python("attach.py", {library, path, std::to_string(kCount)});
    const auto ask = [&python](const std::string& line) {
      python.send_line(line);
      return python.read_line();
    };
    for (const std::int64_t i : {std::int64_t{0}, std::int64_t{511}, kCount - 1}) {
      CHECK(std::stod(ask("read " + std::to_string(i))) == values[i]);
    }
    values[700] = -1234.5;
    CHECK(std::stod(ask("read 700")) == -1234.5);
    CHECK(ask("write 58 77.125") == "written");
    CHECK(tensor.select(0, 0).select(0, 58).item<double>() == 77.125);
    CHECK(ask("write 59 -3.5") == "written");
    CHECK(tensor.select(0, 1).select(0, 0).item<double>() == -3.5);
    CHECK(ask("add 1000") == "added");
    CHECK(values[700] == -234.5);
    CHECK(values[59] == 996.5);
  }
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(audit.leaks() == "");
}

}  // namespace
}  // namespace plab
