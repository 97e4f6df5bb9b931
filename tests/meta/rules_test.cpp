// SPDX-License-Identifier: Apache-2.0
// Each rule is first shown a planted violation, so that a rule that finds nothing is known to look.
#include "rules.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <functional>

#include "exceptions.h"

namespace plab::meta {
namespace {

const std::vector<Source>& tree() {
  static const std::vector<Source> kTree = read_tree(PLAB_META_ROOT);
  return kTree;
}

const Source& file(std::string_view path) {
  const auto found = std::ranges::find(tree(), path, &Source::path);
  if (found == tree().end()) throw std::runtime_error("no file " + std::string(path));
  return *found;
}

// Runs a rule over the whole tree.
void require_clean(const std::function<Violations(const Source&)>& rule) {
  std::string all;
  for (const Source& source : tree()) {
    for (const auto& violation : rule(source)) all += violation + "\n";
  }
  INFO(all);
  REQUIRE(all.empty());
}

const Layers kSmall = read_layers("# comment\n1 base\n2 os\n3 shm\n");

TEST_CASE("the tree is read: the layers' sources and this file are in it", "[meta]") {
  REQUIRE(tree().size() > 50);
  REQUIRE_NOTHROW(file("core/plab/base/error.h"));
  REQUIRE_NOTHROW(file("core/plab/data/CMakeLists.txt"));
  REQUIRE_NOTHROW(file("tests/meta/rules_test.cpp"));
  REQUIRE_NOTHROW(file(".ci/run"));
}

TEST_CASE("comments and literals are blanked, lines keep their numbers", "[meta]") {
  const std::string code = "a // b\n/* c\n d */ e \"f // g\" '\"' 1'000 R\"(h // i)\" j\n";
  REQUIRE(without_comments(code, Literals::kKeep) ==
          "a     \n    \n      e \"f // g\" '\"' 1'000 R\"(h // i)\" j\n");
  REQUIRE(without_comments(code, Literals::kBlank) ==
          "a     \n    \n      e \"      \" ' ' 1'000 R\"(      )\" j\n");
}

TEST_CASE("a file of layers.txt that is not well formed is refused", "[meta]") {
  REQUIRE(kSmall.at("shm") == 3);
  REQUIRE_THROWS(read_layers("1 base\n1 os\n"));
  REQUIRE_THROWS(read_layers("1 base\n2 base\n"));
  REQUIRE_THROWS(read_layers("base\n"));
  REQUIRE_THROWS(read_layers("1 base os\n"));
}

TEST_CASE("an include upwards is found, one downwards or of the own layer is not", "[meta]") {
  const auto check = [](std::string text) {
    return check_layers({"core/plab/os/x.h", std::move(text)}, kSmall);
  };
  REQUIRE(check("#include \"plab/base/error.h\"\n#include \"plab/os/y.h\"\n#include <vector>\n")
              .empty());
  REQUIRE(check("// #include \"plab/shm/a.h\"\n").empty());
  REQUIRE(check("\n#include \"plab/shm/a.h\"\n").at(0).find("core/plab/os/x.h:2:") == 0);
  REQUIRE(check("#  include   \"plab/shm/a.h\" // why\n").size() == 1);
  REQUIRE(check("#include <plab/base/error.h>\n").size() == 1);
  REQUIRE(check("#include \"y.h\"\n").size() == 1);
  REQUIRE(check("#include \"../shm/a.h\"\n").size() == 1);
  REQUIRE(check("#include \"plab/mystery/a.h\"\n").size() == 1);
  REQUIRE(check_layers({"core/plab/new/x.h", ""}, kSmall).size() == 1);
}

TEST_CASE("a layer that depends upwards in its CMakeLists.txt is found", "[meta]") {
  const auto check = [](std::string text) {
    return check_layers({"core/plab/os/CMakeLists.txt", std::move(text)}, kSmall);
  };
  REQUIRE(check("plab_layer(os SOURCES a.cpp\n  DEPENDS base)\n").empty());
  REQUIRE(check("# DEPENDS shm\nplab_layer(os SOURCES a.cpp)\n").empty());
  REQUIRE(check("plab_layer(os SOURCES a.cpp\n  DEPENDS base\n shm LINK fmt)\n").size() == 1);
  REQUIRE(check("plab_layer(os DEPENDS os)\n").size() == 1);
}

TEST_CASE("raw system calls, CUDA and NCCL outside their fence are found", "[meta]") {
  const auto check = [](std::string path, std::string text) {
    return check_fences({std::move(path), std::move(text)}).size();
  };
  REQUIRE(check("core/plab/shm/x.cpp", "#include <sys/mman.h>\n") == 1);
  REQUIRE(check("core/plab/shm/x.cpp", "int a = ::open(path, 0);\n") == 1);
  REQUIRE(check("core/plab/shm/x.cpp", "void f() { ::_exit(3); }\n") == 1);
  REQUIRE(check("core/plab/os/x.cpp", "#include <sys/mman.h>\nint a = ::open(path, 0);\n") == 0);
  REQUIRE(check("core/plab/shm/x.cpp", "auto a = File::open(path); // ::open(x)\n") == 0);
  REQUIRE(check("core/plab/shm/x.cpp", "throw Error(\"[shm] ::open(x) failed\");\n") == 0);
  REQUIRE(check("core/plab/tensor/x.cpp", "cudaStream_t stream;\n") == 1);
  REQUIRE(check("core/plab/device/x.cpp", "cudaStream_t stream;\n") == 0);
  REQUIRE(check("core/plab/device/x.cpp", "ncclAllReduce(a);\n") == 1);
  REQUIRE(check("core/plab/dist/x.cpp", "ncclAllReduce(a);\n") == 0);
  REQUIRE(check("core/plab/device/sim/x.cpp", "ncclAllReduce(a);\n") == 0);
}

TEST_CASE("a file that is too long, or has no licence line, or no pragma is found", "[meta]") {
  const std::string head = "#pragma once\n// SPDX-License-Identifier: Apache-2.0\n";
  REQUIRE(check_form({"core/plab/os/x.h", head}).empty());
  REQUIRE(check_form({"core/plab/os/x.h", head + std::string(299, '\n')}).size() == 1);
  REQUIRE(check_form({"core/plab/os/x.h", head.substr(13)}).size() == 1);
  REQUIRE(check_form({"core/plab/os/x.h", "#pragma once\n"}).size() == 1);
  REQUIRE(check_form({"core/plab/os/x.h", head + "int a;"}).size() == 1);
  REQUIRE(check_form({"lab", "#!/bin/bash\n"}).size() == 1);
}

TEST_CASE("a hole in core is found, one elsewhere is not its business", "[meta]") {
  REQUIRE(check_holes({"core/plab/os/x.h", "int a;  // TODO later\n"}).size() == 1);
  REQUIRE(check_holes({"labs/01_x/lab.cpp", "//! TODO(1)\n"}).empty());
}

TEST_CASE("a path of a machine or a registry's host is found", "[meta]") {
  const std::string slash = "/";
  REQUIRE(check_places({"x.md", "see " + slash + "work/x\n"}).size() == 1);
  REQUIRE(check_places({"x.md", "see " + slash + "home/ann/x\n"}).size() == 1);
  REQUIRE(check_places({"x.md", "deb http://deb.debian" + std::string(".org/debian\n")}).size() ==
          1);
  REQUIRE(check_places({"x.md", "https://pypi" + std::string(".org/simple\n")}).size() == 1);
  REQUIRE(check_places({"x.md", "the frame" + slash + "work/flow; https://example.org/work\n"})
              .empty());
}

TEST_CASE("a link that leads nowhere is found", "[meta]") {
  const std::vector<Source> small{{"README.md", "# A title, of course\n"},
                                  {"docs/a.md", ""},
                                  {"docs/notes/b.md", "## The heart {#heart}\n"}};
  const auto check = [&](std::string text) {
    return check_links({"docs/a.md", std::move(text)}, small);
  };
  REQUIRE(
      check("[x](notes/b.md) [y](../README.md#a-title-of-course) [z](notes) [w](https://e.org)\n"
            "[v](notes/b.md#heart) [u](notes/b.md#the-heart)")
          .empty());
  REQUIRE(check("\n[x](notes/c.md)\n").at(0).find("docs/a.md:2:") == 0);
  REQUIRE(check("[x](../README.md#another-title)").size() == 1);
  REQUIRE(check("[x](README.md)").size() == 1);
}

TEST_CASE("a source that nobody builds is found", "[meta]") {
  const std::vector<Source> small{{"core/plab/os/CMakeLists.txt", "plab_layer(os SOURCES a.cpp)"},
                                  {"tests/CMakeLists.txt", "add_executable(x sub/c.cpp)"}};
  REQUIRE(check_listed({"core/plab/os/a.cpp", ""}, small).empty());
  REQUIRE(check_listed({"tests/sub/c.cpp", ""}, small).empty());
  REQUIRE(check_listed({"core/plab/os/b.cpp", ""}, small).size() == 1);
  REQUIRE(check_listed({"tests/sub/d.cpp", ""}, small).size() == 1);
  REQUIRE(check_listed({"core/other/d.cpp", ""}, small).size() == 1);
  const std::vector<Source> labs{{"labs/CMakeLists.txt", "plab_lab(01_a MUTANTS b)"}};
  REQUIRE(check_listed({"tests/labs/01_a/check.cpp", ""}, labs).empty());
  REQUIRE(check_listed({"tests/labs/01_a/mutants/b.cpp", ""}, labs).empty());
  REQUIRE(check_listed({"tests/labs/01_a/mutants/c.cpp", ""}, labs).size() == 1);
  REQUIRE(check_listed({"tests/labs/02_b/check.cpp", ""}, labs).size() == 1);
}

TEST_CASE("a source that includes its own header late is found", "[meta]") {
  const std::vector<Source> small{{"core/plab/os/a.h", ""}};
  const auto check = [&](std::string path, std::string text) {
    return check_own_header_first({std::move(path), std::move(text)}, small).size();
  };
  REQUIRE(check("core/plab/os/a.cpp", "#include \"plab/os/a.h\"\n#include <vector>\n") == 0);
  REQUIRE(check("core/plab/os/a.cpp", "#include <vector>\n#include \"plab/os/a.h\"\n") == 1);
  REQUIRE(check("core/plab/os/b.cpp", "#include <vector>\n") == 0);
}

TEST_CASE("a README that shows another program than the tested one is found", "[meta]") {
  const Source readme{"README.md", "text\n```cpp\n#include <x>\nint main() {}\n```\nmore"};
  REQUIRE(check_readme_example(
              readme, {"e.cpp", "// licence\n//! [x]\n#include <x>\nint main() {}\n//! [x]\n"})
              .empty());
  REQUIRE(check_readme_example(readme, {"e.cpp", "#include <x>\nint main(){}\n"}).size() == 1);
  REQUIRE(check_readme_example({"README.md", "nothing"}, {"e.cpp", "#include <x>\n"}).size() == 1);
}

TEST_CASE("core includes downwards only", "[meta][tree]") {
  const Layers layers = read_layers(file("core/layers.txt").text);
  require_clean([&](const Source& source) { return check_layers(source, layers); });
}

TEST_CASE("raw system calls, CUDA and NCCL stay inside their fences", "[meta][tree]") {
  require_clean(check_fences);
}

TEST_CASE("every file has its licence line and a length that can be read", "[meta][tree]") {
  require_clean(check_form);
}

TEST_CASE("core has no holes", "[meta][tree]") { require_clean(check_holes); }

TEST_CASE("no file names a machine's path or a registry's host", "[meta][tree]") {
  require_clean(check_places);
}

TEST_CASE("every link of the documentation leads somewhere", "[meta][tree]") {
  require_clean([](const Source& source) { return check_links(source, tree()); });
}

TEST_CASE("every source is built", "[meta][tree]") {
  require_clean([](const Source& source) { return check_listed(source, tree()); });
}

TEST_CASE("every source of core includes its own header first", "[meta][tree]") {
  require_clean([](const Source& source) { return check_own_header_first(source, tree()); });
}

TEST_CASE("the README shows the program that is compiled and run", "[meta][tree]") {
  const auto violations =
      check_readme_example(file("README.md"), file("tests/core/mp/readme_example.cpp"));
  INFO((violations.empty() ? std::string{} : violations.front()));
  REQUIRE(violations.empty());
}

TEST_CASE("every exception from a rule names a file that is there, and a reason", "[meta][tree]") {
  for (const auto& list :
       {std::span<const Exception>(kFenceExceptions), std::span<const Exception>(kLengthExceptions),
        std::span<const Exception>(kUnlistedExceptions)}) {
    for (const Exception& exception : list) {
      INFO(exception.path);
      REQUIRE_NOTHROW(file(exception.path));
      REQUIRE(exception.reason.size() > 10);
      REQUIRE(std::ranges::count(file(exception.path).text, '\n') <= 600);
    }
  }
}

}  // namespace
}  // namespace plab::meta
