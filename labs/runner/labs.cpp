// SPDX-License-Identifier: Apache-2.0
#include "labs.h"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <charconv>
#include <sstream>

#include "number.h"
#include "plab/base/error.h"
#include "plab/os/file.h"

namespace plab::lab {

namespace {

[[noreturn]] void bad(const std::filesystem::path& file, const std::string& problem) {
  throw DataError(file.string(), 0, 0, problem);
}

std::string text(const toml::table& table, std::string_view key,
                 const std::filesystem::path& file) {
  const auto value = table[key].value<std::string>();
  if (!value || value->empty()) bad(file, fmt::format("it lacks the text \"{}\"", key));
  return *value;
}

std::vector<std::string> list(const toml::table& table, std::string_view key) {
  std::vector<std::string> out;
  if (const auto* array = table[key].as_array()) {
    for (const auto& entry : *array) out.push_back(entry.value_or(std::string()));
  }
  return out;
}

std::map<std::string, std::string> dictionary(const toml::table& table, std::string_view key) {
  std::map<std::string, std::string> out;
  if (const auto* part = table[key].as_table()) {
    for (const auto& [name, value] : *part) {
      out.emplace(std::string(name.str()), value.value_or(std::string()));
    }
  }
  return out;
}

Lab read_lab(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "lab.toml";
  toml::table all;
  try {
    all = toml::parse_file(file.string());
  } catch (const toml::parse_error& problem) {
    const auto at = problem.source().begin;
    throw DataError(file.string(), at.line, at.column, std::string(problem.description()));
  }
  Lab lab;
  lab.folder = folder.filename().string();
  std::from_chars(lab.folder.data(), lab.folder.data() + 2, lab.number);
  lab.id = text(all, "id", file);
  if (lab.folder.substr(3) != lab.id) bad(file, "its id is not the name of its folder: " + lab.id);
  lab.title = text(all, "title", file);
  lab.kind = text(all, "kind", file);
  lab.pytorch = text(all, "pytorch", file);
  lab.minutes = all["minutes"].value_or(0);
  lab.cores = all["cores"].value_or(1);
  lab.limit = all["limit"].value_or(Lab::kUsualLimit);
  if (lab.limit <= 0) bad(file, fmt::format("its limit is {}, not above 0", lab.limit));
  lab.start_methods = list(all, "start_methods");
  lab.sanitizers = list(all, "sanitizers");
  lab.demo = all["demo"].value_or(std::string());
  lab.hang = dictionary(all, "hang");
  lab.mutants = dictionary(all, "mutants");
  if (const auto* verdicts = all["verdict"].as_table()) {
    for (const auto& [code, value] : *verdicts) {
      const auto* const table = value.as_table();
      if (table == nullptr) bad(file, fmt::format("verdict.{} is no table", code.str()));
      lab.verdicts[std::string(code.str())] = {
          text(*table, "rule", file), text(*table, "why", file), text(*table, "look", file),
          text(*table, "explain", file), list(*table, "hints")};
    }
  }
  return lab;
}

bool is_lab(const std::string& name) {
  return name.size() > 3 && std::isdigit(static_cast<unsigned char>(name[0])) != 0 &&
         std::isdigit(static_cast<unsigned char>(name[1])) != 0 && name[2] == '_';
}

// What can befall any lab.
// NOLINTNEXTLINE(readability-function-size): a table of texts
const std::map<std::string, VerdictText>& own_texts() {
  static const std::map<std::string, VerdictText> texts{
      {"LAB-CRASH",
       {"no process of a lab ends by a signal that nobody asked for",
        "a worker that crashes takes its results along, and the others may wait for it",
        "the function named above",
        "The program of the check was ended by the signal that is shown. SIGSEGV is a read or a "
        "write "
        "outside of memory, SIGABRT an exception that nobody caught or a failed assertion.",
        {"Which signal was it, and in which process?", "Does it also crash with one worker?",
         "./lab check with --sanitize address names the line."}}},
      {"LAB-PARENT-KILLED",
       {"a program ends only processes that it has started itself",
        "the parent of a rank is its launcher: without it nobody ends the other ranks",
        "every kill() in lab.cpp, and the number that it gets",
        "Each check runs below a process that waits for it. That one was ended by a signal; the "
        "tool itself is another process, and goes on.",
        {"Whose pid does your kill() get?", "What does getppid() give in the first process?",
         "Use the terminate() and kill() of the Process that you have started."}}},
      {"LAB-EXITED",
       {"the functions of lab.cpp return; they do not end the program",
        "exit() in the middle of a check ends the check itself",
        "every exit() in lab.cpp",
        "The program of the check ended before it had come to its end.",
        {"What ends the program?", "Look for exit, _exit and quick_exit.",
         "Return from the function instead, or throw."}}},
      {"LAB-EXCEPTION",
       {"no exception leaves the functions of lab.cpp, but NotDone",
        "an exception that nobody expects ends a training",
        "the call that threw",
        "The text above is the exception's own.",
        {"Who throws this?", "The message of plab says what was given and what is valid.",
         "Mend the call that it names."}}},
      {"LAB-CHILD-EXCEPTION",
       {"no exception leaves a worker",
        "one failing worker ends the others",
        "what the worker calls",
        "The text above came from a child process, with its rank.",
        {"Which rank threw it?", "The message of plab says what was given and what is valid.",
         "Mend the call that it names."}}},
      {"LAB-STUCK",
       {"every function of lab.cpp comes to an end",
        "a worker that never returns keeps all others waiting, and its core busy",
        "the functions that are named above, and their loops",
        "No message was sent, no lock was taken, nothing was printed, no process came or went, for "
        "many times as long as the check needs on this machine. If a process computed meanwhile, "
        "it "
        "is a loop whose condition never becomes false; if none did, a thread sleeps or waits in "
        "something that is not plab's. It is no proof of a deadlock.",
        {"Which loop could run for ever, or which call could sleep for ever?",
         "What makes its condition false, and who does that?",
         "Give waits a queue, an event or a join to wait on instead of a loop."}}},
      {"LAB-SLOW",
       {"a check takes a small multiple of what this machine needs for its parts",
        "work that is repeated, or done one after the other, costs every step of a training",
        "what lab.cpp does again and again",
        "The program still moved when its time was up: it sent, took locks, printed or computed. "
        "That is no hang. Either it does much more than it has to, or it repeats the same for "
        "ever, "
        "or this machine is busy with something else. ./lab doctor measures the machine again.",
        {"Is this machine busy? Does the check pass when nothing else runs?",
         "How often does each loop of yours run, and how often would be enough?",
         "Look at ./lab trace: what repeats is your loop."}}},
      {"LAB-DEADLOCK",
       {"who waits must not hold what the others need to go on",
        "nobody is left who could go on",
        "the lines named above",
        "The watcher has proved that these threads can only be freed by each other.",
        {"Who waits for whom?", "What does each of them hold?",
         "Change the order of two of the calls."}}},
      {"LAB-EDITED",
       {"lab.cpp is the only file that counts",
        "a check that was changed proves nothing about the lab, nor does a core that was",
        "git checkout -- FILE, or git stash, brings the files back",
        "The check passed with an edited core, header or check. To look inside plab, edit what you "
        "like; for the pass put it back, or commit it if you are working on plab itself.",
        {"Which files are named?", "Is the edit meant for the lab, or for plab?",
         "git diff shows what you changed."}}},
      {"LAB-BUILD-GONE",
       {"a lab removes only what it has made itself",
        "a training that cleans up with a wrong path takes its checkpoints, or its own program, "
        "along",
        "every call that removes a file or a folder",
        "The program of the check was removed while it ran, so the lab removed it. Nothing of "
        "yours is lost: the next ./lab check builds everything again, and lab.cpp and your "
        "progress are not kept in the build folder.",
        {"Which call of lab.cpp removes files?", "Is the path that it gets the one you mean?",
         "Remove single files that lab.cpp has made, by their names."}}},
      {"LAB-SANITIZER",
       {"no access outside of an object's memory or life, no data race, no undefined behaviour",
        "such a program may pass a thousand times and fail in the next run, elsewhere",
        "the line that is named above",
        "The program was built with a sanitizer, which watches every access to memory. Its whole "
        "report is in the file that is named: who made the object, who freed it, who else uses it.",
        {"Which object does the line use, and how long does that object live?",
         "Which other process or thread uses the same memory at that time?",
         "Read the report from its first line: it names both accesses."}}},
      {"LAB-LEFT-BEHIND",
       {"what a program starts or makes it also ends or removes",
        "left-over processes and segments fill the machine of everybody who uses it",
        "whatever is named above",
        "The check passed; these were still there after it had ended.",
        {"Which call made it?", "Who owns it, and when does that owner go?",
         "Join processes, close what you open, unlink what you name."}}}};
  return texts;
}

}  // namespace

std::vector<Lab> read_labs(const Context& context) {
  std::vector<Lab> labs;
  for (const std::string& name : os::list_folder(context.source / "labs", "")) {
    if (is_lab(name)) labs.push_back(read_lab(context.source / "labs" / name));
  }
  std::ranges::sort(labs, {}, &Lab::number);
  return labs;
}

std::optional<Lab> find_lab(const std::vector<Lab>& labs, std::string_view name) {
  int number = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_number = error == std::errc() && end == name.data() + name.size();
  for (const Lab& lab : labs) {
    if ((is_number && lab.number == number) || lab.id == name || lab.folder == name) return lab;
  }
  return std::nullopt;
}

std::optional<VerdictText> text_of(const Lab& lab, const std::string& code) {
  if (const auto found = lab.verdicts.find(code); found != lab.verdicts.end()) return found->second;
  if (const auto found = own_texts().find(code); found != own_texts().end()) return found->second;
  return std::nullopt;
}

std::string cut_skeleton(const std::string& solution, const std::string& name) {
  std::istringstream lines(solution);
  std::string out;
  int todo = 0;  // of the hole that we are in
  bool in_text = false;
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const auto mark = line.find("//! ");
    const std::string rest = mark == std::string::npos ? "" : line.substr(mark + 4);
    if (rest.starts_with("TODO(")) {
      if (todo != 0) throw DataError(name, number, 0, "a TODO within another one");
      todo = leading_number(rest.substr(5));
      in_text = true;
    }
    if (rest == "END") {
      if (todo == 0) throw DataError(name, number, 0, "an END without its TODO");
      out += fmt::format("{}throw plab::lab::NotDone{{{}}};\n", std::string(mark, ' '), todo);
      todo = 0;
      continue;
    }
    if (todo == 0) {
      out += line + "\n";
      continue;
    }
    in_text = in_text && mark != std::string::npos;
    if (in_text) out += fmt::format("{}// {}\n", std::string(mark, ' '), rest);
  }
  if (todo != 0) throw DataError(name, number, 0, fmt::format("TODO({}) has no END", todo));
  return out;
}

}  // namespace plab::lab
