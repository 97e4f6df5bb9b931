// SPDX-License-Identifier: Apache-2.0
#include "plab/base/timeline_export.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "plab/base/json_text.h"

namespace tl = plab::timeline;
using nlohmann::json;
using namespace std::string_literals;

namespace {

tl::Timeline two_processes() {
  tl::ProcessTrack one{.pid = 11, .name = "parent", .end = tl::End::kExited};
  one.events = {{.kind = tl::Kind::kStart, .tid = 11, .start_ns = 1'000'000},
                {.kind = tl::Kind::kPut, .tid = 11, .start_ns = 1'002'500, .id = 9, .label = "q"},
                {.kind = tl::Kind::kPut, .tid = 11, .start_ns = 1'003'500, .id = 10, .label = "q"},
                {.kind = tl::Kind::kExit, .tid = 11, .start_ns = 1'900'001, .label = "exit"}};
  tl::ProcessTrack two{
      .pid = 12, .parent_pid = 11, .name = "</script><b>\"\\\xff", .end = tl::End::kKilled};
  two.events = {{.kind = tl::Kind::kGet, .tid = 12, .start_ns = 1'400'000, .id = 9, .label = "q"},
                {.kind = tl::Kind::kThread, .tid = 13, .start_ns = 1'400'100, .label = "feeder"},
                {.kind = tl::Kind::kSpan,
                 .tid = 13,
                 .start_ns = 1'500'000,
                 .duration_ns = 2'345,
                 .value = INT64_MIN,
                 .label = "<img src=x onerror=alert(1)>"}};
  return {.processes = {one, two}, .problems = {"bad </script> ring"}};
}

}  // namespace

TEST_CASE("the Perfetto file is JSON with names, spans, instants and one arrow per message",
          "[base][timeline]") {
  const auto all = json::parse(tl::to_chrome_json(two_processes()));
  int arrows_out = 0;
  int arrows_in = 0;
  int spans = 0;
  bool named = false;
  for (const auto& event : all.at("traceEvents")) {
    const std::string phase = event.at("ph");
    if (phase == "s") ++arrows_out;
    if (phase == "f") {
      ++arrows_in;
      CHECK(event.at("ts") == 400.0);
      CHECK(event.at("id") == "0x9");
    }
    if (phase == "X" && event.at("cat") == "span") {
      ++spans;
      CHECK(event.at("dur") == 2.345);
      CHECK(event.at("ts") == 500.0);
      CHECK(event.at("tid") == 13);
    }
    if (phase == "M" && event.at("name") == "thread_name") {
      named = event.at("args").at("name") == "feeder";
    }
  }
  CHECK(arrows_out == 1);  // the put without a get has none
  CHECK(arrows_in == 1);
  CHECK(spans == 1);
  CHECK(named);
}

TEST_CASE("the page holds the data as JSON that no label can break out of", "[base][timeline]") {
  const std::string page = tl::to_html(two_processes(), "run <1> & PLAB_DATA");
  CHECK(page.find("<title>run &lt;1&gt; &amp; PLAB_DATA</title>") != std::string::npos);
  CHECK(page.find("onerror=alert(1)>") == std::string::npos);
  const std::string open = "type=\"application/json\">";
  const auto begin = page.find(open) + open.size();
  const auto data = json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  REQUIRE(data.at("processes").size() == 2);
  CHECK(data["processes"][1]["name"] == "</script><b>\"\\\xEF\xBF\xBD");
  CHECK(data["processes"][1]["end"] == "killed");
  CHECK(data["processes"][1]["lanes"][1]["name"] == "feeder");
  CHECK(data["processes"][1]["lanes"][1]["events"][0][5] == "-9223372036854775808");
  CHECK(data["problems"][0] == "bad </script> ring");
  // nothing that a browser would fetch
  CHECK(page.find("http:") == std::string::npos);
  CHECK(page.find("https:") == std::string::npos);
  CHECK(page.find("src=\"") == std::string::npos);
}

TEST_CASE("an empty timeline is a valid file and a valid page", "[base][timeline]") {
  CHECK(json::parse(tl::to_chrome_json({})).at("traceEvents").size() == 1);
  CHECK(tl::to_html({}, "nothing").find("\"processes\":[]") != std::string::npos);
  CHECK_FALSE(tl::interval_of({}).has_value());
}

TEST_CASE("text of unknown origin is escaped for JSON and XML", "[base]") {
  const std::string text = "a\"\\\n\x01\x7f<>&'\xc3\xa9\xed\xa0\x80\xf0\x9f\x98\x80\x00z"s;
  const std::string quoted = plab::json_string(text);
  CHECK(json::parse(quoted).get<std::string>() ==
        "a\"\\\n\x01\x7f<>&'\xc3\xa9\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xf0\x9f\x98\x80\x00z"s);
  CHECK(plab::xml_text("<a b='\"&\x02") == "&lt;a b=&#39;&quot;&amp;\xEF\xBF\xBD");
  CHECK(plab::json_string("") == "\"\"");
  CHECK(plab::xml_text("\xc3") == "\xEF\xBF\xBD");
}
