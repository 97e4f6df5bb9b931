// SPDX-License-Identifier: Apache-2.0
#include "show.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "check.h"
#include "layout.h"
#include "learn.h"
#include "plab/base/timeline_export.h"
#include "plab/os/file.h"
#include "plab/os/temp.h"
#include "plab/os/timeline_store.h"

namespace plab::lab {

namespace {

/// The verdict and the exit code that the end of a demo stands for.
void judge(const Lab& lab, LabDemoEnd& demo) {
  const RunEnd& run = demo.run;
  switch (run.how) {
    case RunEnd::How::kDeadlock: {
      const auto own = lab.hang.find(run.verdict->code);
      demo.code = own == lab.hang.end() ? "LAB-DEADLOCK" : own->second;
      demo.exit_code = kExitHang;
      return;
    }
    case RunEnd::How::kStuck:
      demo.code = "LAB-STUCK";
      demo.exit_code = kExitHang;
      return;
    case RunEnd::How::kSlow:
      demo.code = "LAB-SLOW";
      demo.exit_code = kExitSlow;
      return;
    case RunEnd::How::kInterrupted:
      demo.exit_code = kExitInterrupted;
      return;
    case RunEnd::How::kEnded:
      break;
  }
  if (run.status.signal != 0) {
    demo.code = "LAB-CRASH";
    demo.exit_code = kExitCrash;
  } else if (run.status.code != 0) {
    demo.code = "LAB-EXITED";
    demo.exit_code = kExitCheckFailed;
  } else if (!run.left.empty()) {
    demo.code = "LAB-LEFT-BEHIND";
    demo.exit_code = kExitLeftBehind;
  } else {
    demo.exit_code = kExitPassed;
  }
}

std::string seen(const RunEnd& run) {
  if (run.how == RunEnd::How::kDeadlock) return run.verdict->text();
  if (run.how == RunEnd::How::kStuck) {
    return fmt::format("HANG  no end after {:.0f} s, and no deadlock is proved\n", run.seconds);
  }
  if (run.how == RunEnd::How::kSlow) {
    return fmt::format("SLOW  no end after {:.0f} s, but it gets somewhere\n", run.seconds);
  }
  if (!run.status.success()) return fmt::format("the demo {}\n", run.status.text());
  std::string text;
  for (const std::string& thing : run.left) text += fmt::format("left    {}\n", thing);
  return text;
}

int show_lab_demo(const Context& context, const Lab& lab) {
  const std::string name = lab.short_name();
  if (!std::filesystem::exists(context.source / "labs" / lab.folder / "demo.cpp")) {
    fmt::print(stderr, "lab demo: lab {} has no demo of its own\n", name);
    return kExitUsage;
  }
  if (const std::string error = build_target(context, target_of(lab, "demo")); !error.empty()) {
    fmt::print(stderr, "lab: the demo of lab {} does not compile: a defect of plab\n{}", name,
               error);
    return kExitToolDefect;
  }
  const LabDemoEnd demo = run_lab_demo(context, lab);
  if (demo.exit_code == kExitInterrupted) {
    fmt::print("lab: interrupted; nothing of it is left\n");
    return demo.exit_code;
  }
  fmt::print("{}{}", demo.run.output, seen(demo.run));
  if (const auto text = text_of(lab, demo.code)) fmt::print("{}", part("why", text->why));
  const auto folder = Recording::folder(context, lab);
  if (demo.run.verdict) fmt::print("picture {}\n", (folder / "wait.svg").string());
  if (demo.code.empty()) {
    fmt::print("next    ./lab trace {0}   ./lab check {0}\n", name);
  } else {
    fmt::print("next    ./lab explain {1}   ./lab trace {0}   ./lab check {0}\n", name, demo.code);
  }
  return demo.exit_code;
}

}  // namespace

Recording::Recording(const Context& context, const Lab& lab) : folder_(folder(context, lab)) {
  os::remove_timeline(folder_ / "rings");
  std::error_code ignored;  // a picture that stays is replaced by finish()
  for (const char* const old : {"timeline.html", "timeline.json", "wait.svg"}) {
    std::filesystem::remove(folder_ / old, ignored);
  }
  std::filesystem::create_directories(folder_, ignored);
}

std::pair<std::string, std::string> Recording::environment() const {
  return {"PLAB_TIMELINE", (folder_ / "rings").string()};
}

void Recording::finish(const std::string& title) const {
  if (!std::filesystem::exists(folder_ / "rings")) return;  // it ended before mp::init
  try {
    const timeline::Timeline timeline = os::read_timeline(folder_ / "rings");
    os::write_file(folder_ / "timeline.html", timeline::to_html(timeline, title));
    os::write_file(folder_ / "timeline.json", timeline::to_chrome_json(timeline));
  } catch (const std::exception& problem) {
    fmt::print(stderr, "lab: there is no timeline of this run: {}\n", problem.what());
  }
  os::remove_timeline(folder_ / "rings");
}

std::filesystem::path Recording::folder(const Context& context, const Lab& lab) {
  return context.build / "labs" / "out" / lab.short_name();
}

LabDemoEnd run_lab_demo(const Context& context, const Lab& lab) {
  const os::TempFolder waits("plab-demo-");
  const Recording recording(context, lab);
  LabDemoEnd demo;
  demo.run = run_supervised({.argv = {(context.build / "labs" / target_of(lab, "demo")).string()},
                             .environment = {recording.environment()},
                             .folder = waits.path() / "waits",
                             .timeline = recording.environment().second});
  judge(lab, demo);
  recording.finish(fmt::format("lab {} {}: demo", lab.short_name(), lab.id));
  if (demo.run.verdict) {
    os::write_file(Recording::folder(context, lab) / "wait.svg", demo.run.verdict->svg());
  }
  return demo;
}

int run_lab_demo_verb(const Context& context, const Arguments& arguments) {
  // A word that names no lab is the fault to tell of, before any option that the main job has.
  if (!choose_lab(context, arguments.front())) {
    fmt::print(stderr, "without a lab it takes options only:  ./lab demo --help\n");
    return kExitUsage;
  }
  std::string name;
  CLI::App app{"a lab's own demo; without LAB the main job", "lab demo"};
  app.add_option("LAB", name, "number or id")->required();
  if (const auto code = parse_options(app, arguments)) return *code;
  const auto lab = choose_lab(context, name);
  return lab ? show_lab_demo(context, *lab) : int{kExitUsage};
}

int run_trace(const Context& context, const Arguments& arguments) {
  std::string name;
  CLI::App app{"the timeline of the last run of a lab's demo or check", "lab trace"};
  app.add_option("LAB", name, "number or id; without it the first that is not passed");
  if (const auto code = parse_options(app, arguments)) return *code;
  const auto lab = choose_lab(context, name);
  if (!lab) return name.empty() ? kExitPassed : kExitUsage;
  const auto page = Recording::folder(context, *lab) / "timeline.html";
  if (!std::filesystem::exists(page)) {
    fmt::print("There is no timeline of lab {0} yet: ./lab demo {0} or ./lab check {0}\n",
               lab->short_name());
    return kExitCheckFailed;
  }
  fmt::print("{}\nopen it in a browser; timeline.json beside it is for Perfetto\n", page.string());
  return kExitPassed;
}

}  // namespace plab::lab
