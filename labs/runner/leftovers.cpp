// SPDX-License-Identifier: Apache-2.0
#include "leftovers.h"

#include <fmt/format.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "number.h"
#include "plab/base/error.h"
#include "plab/os/file.h"

namespace plab::lab {

namespace {

namespace fs = std::filesystem;
using Kind = SystemVObject::Kind;

struct Table {
  Kind kind;
  const char* file;
  const char* id;     // the column with the number
  const char* maker;  // the column with a pid that shows whose it is; none for semaphores
  const char* words;
};
constexpr Table kTables[] = {
    {Kind::kShared, "/proc/sysvipc/shm", "shmid", "cpid", "System V shared memory"},
    {Kind::kSemaphore, "/proc/sysvipc/sem", "semid", nullptr, "System V semaphores"},
    {Kind::kQueue, "/proc/sysvipc/msg", "msqid", "lspid", "System V message queue"},
};

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream text(line);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

/// The rows of a table of the kernel, each by the names of its columns.
std::vector<std::map<std::string, std::string>> rows_of(const char* file) {
  std::vector<std::map<std::string, std::string>> rows;
  std::string text;
  try {
    text = os::read_file(file);
  } catch (const Error&) {
    return rows;  // a kernel without System V objects
  }
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  const auto names = words_of(line);
  while (std::getline(lines, line)) {
    const auto values = words_of(line);
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < names.size() && i < values.size(); ++i) row[names[i]] = values[i];
  }
  return rows;
}

std::set<SystemVObject> all_objects() {
  std::set<SystemVObject> all;
  for (const Table& table : kTables) {
    for (auto& row : rows_of(table.file)) {
      all.insert({table.kind, leading_number(row[table.id])});
    }
  }
  return all;
}

/// Who used it last, or made it; 0: nobody has used it.
int user_of(const Table& table, std::map<std::string, std::string>& row) {
  if (table.maker != nullptr) return leading_number(row[table.maker]);
  const int id = leading_number(row[table.id]);
  const int count = leading_number(row["nsems"]);
  for (int i = 0; i < count; ++i) {
    if (const int pid = ::semctl(id, i, GETPID); pid > 0) return pid;
  }
  return 0;
}

void remove(const SystemVObject& object) {
  if (object.kind == Kind::kShared) ::shmctl(object.id, IPC_RMID, nullptr);
  if (object.kind == Kind::kSemaphore) ::semctl(object.id, 0, IPC_RMID);
  if (object.kind == Kind::kQueue) ::msgctl(object.id, IPC_RMID, nullptr);
}

std::vector<std::string> left_objects(const std::set<SystemVObject>& before,
                                      const std::set<int>& members) {
  std::vector<std::string> left;
  const std::string me = std::to_string(::geteuid());
  for (const Table& table : kTables) {
    for (auto& row : rows_of(table.file)) {
      const SystemVObject object{table.kind, leading_number(row[table.id])};
      if (before.contains(object) || row["uid"] != me) continue;
      const int user = user_of(table, row);
      if (user != 0 && !members.contains(user)) continue;
      left.push_back(fmt::format("{}, id {}, key {}{}", table.words, object.id, row["key"],
                                 user == 0 ? " (nobody has used it: ipcrm removes it)"
                                           : fmt::format(", of process {}", user)));
      if (user != 0) remove(object);
    }
  }
  return left;
}

bool is_my_socket(const fs::path& path) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0 && S_ISSOCK(about.st_mode) &&
         about.st_uid == ::geteuid();
}

std::set<fs::path> all_sockets(const fs::path& scratch) {
  std::set<fs::path> all;
  std::error_code problem;
  for (const fs::path& folder :
       {fs::current_path(problem), fs::temp_directory_path(problem), scratch}) {
    for (fs::directory_iterator at(folder, problem), end; !problem && at != end;
         at.increment(problem)) {
      if (is_my_socket(at->path())) all.insert(at->path());
    }
  }
  return all;
}

/// A living process has it bound, by its whole path or by its name in its own folder.
bool is_bound(const std::string& table, const fs::path& path) {
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with(" " + path.string()) || line.ends_with(" " + path.filename().string()) ||
        line.ends_with("/" + path.filename().string())) {
      return true;
    }
  }
  return false;
}

std::vector<std::string> left_sockets(const std::set<fs::path>& before, const fs::path& scratch) {
  std::vector<std::string> left;
  std::string bound;
  try {
    bound = os::read_file("/proc/net/unix");
  } catch (const Error&) {
    return left;  // whose they are cannot be told
  }
  for (const fs::path& path : all_sockets(scratch)) {
    if (before.contains(path) || is_bound(bound, path)) continue;
    std::error_code problem;
    fs::remove(path, problem);
    left.push_back(fmt::format("socket {}", path.string()));
  }
  return left;
}

}  // namespace

Leftovers::Leftovers(fs::path scratch)
    : objects_(all_objects()), scratch_(std::move(scratch)), sockets_(all_sockets(scratch_)) {}

std::vector<std::string> Leftovers::remove_left(const std::set<int>& members) const {
  std::vector<std::string> left = segments_.remove_left(members);
  for (auto&& part : {left_objects(objects_, members), left_sockets(sockets_, scratch_)}) {
    left.insert(left.end(), part.begin(), part.end());
  }
  return left;
}

}  // namespace plab::lab
