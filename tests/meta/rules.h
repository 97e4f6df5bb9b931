#pragma once
// SPDX-License-Identifier: Apache-2.0
// The project's own rules about its sources, as functions: a file goes in, what is wrong comes out.
// The test first plants a violation of each rule and sees it found, then looks at the real tree.

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace plab::meta {

/// A text file of the project.
struct Source {
  std::string path;  ///< from the root, with '/': "core/plab/os/pipe.cpp"
  std::string text;
};

/// One violation, as it is shown: "core/plab/os/pipe.cpp:12: what is wrong".
using Violations = std::vector<std::string>;

/// Layer name to number, from the text of core/layers.txt.
using Layers = std::map<std::string, int, std::less<>>;
/// @throws std::runtime_error for a line that is not "NUMBER NAME" or a number that comes twice
[[nodiscard]] Layers read_layers(std::string_view text);

/// Every text file below `root` that belongs to the project: no build folder, no hidden folder but
/// .ci, no data.
[[nodiscard]] std::vector<Source> read_tree(const std::filesystem::path& root);

/// The same text with comments blanked (and string and character literals too, if `literals`);
/// lines keep their numbers.
enum class Literals { kKeep, kBlank };
[[nodiscard]] std::string without_comments(std::string_view code, Literals literals);

/// A file of a layer includes only its own layer and lower ones, and a layer's CMakeLists.txt
/// depends on lower ones only.
[[nodiscard]] Violations check_layers(const Source& source, const Layers& layers);

/// Raw system calls only in core/plab/os, CUDA names only in core/plab/device and labs, NCCL names
/// only in core/plab/dist and labs.
[[nodiscard]] Violations check_fences(const Source& source);

/// At most 300 lines, 100 columns in C++; "#pragma once" in headers; the licence's SPDX line.
[[nodiscard]] Violations check_form(const Source& source);

/// No holes in core: TODO, FIXME and the like.
[[nodiscard]] Violations check_holes(const Source& source);

/// No path of somebody's machine, no host name of a package registry.
[[nodiscard]] Violations check_places(const Source& source);

/// Relative links of a Markdown file lead to a file of the project and to a heading that it has.
[[nodiscard]] Violations check_links(const Source& source, const std::vector<Source>& tree);

/// Every .cpp of core and tests is named in the CMakeLists.txt of its folder, or it is never built.
[[nodiscard]] Violations check_listed(const Source& source, const std::vector<Source>& tree);

/// A .cpp of core includes its own header before anything else, which proves that the header
/// compiles alone. (Headers without a .cpp are compiled alone by the build of the tests.)
[[nodiscard]] Violations check_own_header_first(const Source& source,
                                                const std::vector<Source>& tree);

/// The first C++ block of the README is the program that the tests compile and run.
[[nodiscard]] Violations check_readme_example(const Source& readme, const Source& example);

}  // namespace plab::meta
