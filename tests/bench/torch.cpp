// SPDX-License-Identifier: Apache-2.0
// Runs the PyTorch peers as what they are: another program.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <vector>

#include "bench/peers.h"
#include "plab/base/error.h"

namespace plab::bench {

namespace {

struct Output {
  int status = -1;
  std::string text;
};

Output run(const std::string& command) {
  Output output;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw SystemError("[bench.torch] popen", errno);
  char piece[512];
  while (fgets(piece, sizeof piece, pipe) != nullptr) output.text += piece;
  output.status = pclose(pipe);
  return output;
}

// The first Python that has PyTorch: PLAB_BENCH_PYTHON, the system's (apt), the one on PATH (pip).
const std::optional<std::string>& torch_python() {
  static const std::optional<std::string> found = []() -> std::optional<std::string> {
    std::vector<std::string> candidates;
    if (const char* wanted = std::getenv("PLAB_BENCH_PYTHON")) candidates.emplace_back(wanted);
    candidates.insert(candidates.end(), {"/usr/bin/python3", "python3"});
    for (const auto& python : candidates) {
      if (run("'" + python + "' -c 'import torch' 2>/dev/null").status == 0) return python;
    }
    return std::nullopt;
  }();
  return found;
}

}  // namespace

std::optional<std::map<std::string, double>> torch_figures(const std::string& part) {
  const auto& python = torch_python();
  if (!python) return std::nullopt;
  const auto output = run(fmt::format("OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 '{}' '{}' {}",
                                      *python, PLAB_BENCH_DIR "/torch_peers.py", part));
  if (output.status != 0) {
    throw Error(
        fmt::format("[bench.torch] torch_peers.py {} ended with status {}; run it by hand: "
                    "{} {}/torch_peers.py {}",
                    part, output.status, *python, PLAB_BENCH_DIR, part));
  }
  std::map<std::string, double> figures;
  std::istringstream lines(output.text);
  std::string name;
  double value = 0;
  while (lines >> name >> value) figures[name] = value;
  return figures;
}

}  // namespace plab::bench
