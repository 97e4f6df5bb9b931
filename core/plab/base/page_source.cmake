# SPDX-License-Identifier: Apache-2.0
# Makes a C++ source of timeline_page.html: cmake -DPAGE=in.html -DOUT=out.cpp -P page_source.cmake
file(READ "${PAGE}" page)
# A compiler may refuse a string literal over 64 KiB: one literal per 8,000 bytes.
set(pieces "")
string(LENGTH "${page}" length)
set(at 0)
while(at LESS length)
  string(SUBSTRING "${page}" ${at} 8000 piece)
  string(APPEND pieces "R\"plab~(${piece})plab~\"\n")
  math(EXPR at "${at} + 8000")
endwhile()
file(WRITE "${OUT}" "// Made of timeline_page.html.
#include <string_view>
namespace plab::timeline {
extern const std::string_view kPage;
constinit const std::string_view kPage(
${pieces});
}  // namespace plab::timeline
")
