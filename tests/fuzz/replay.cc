// The short run of a fuzz target, as an ordinary test that needs no libFuzzer:
//
//   replay NAME CORPUS RUNS     every file in the folder CORPUS, then RUNS variants of them
//   replay FILE                 one input, in this process, so that a debugger can watch
//
// The target runs in a child process, because an input that breaks it may end its process in any
// way: a signal, an exhausted stack, no more memory, or no end at all. The current input lies in
// memory that both processes share, so it is never lost (docs/decisions/0078).
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "tests/fuzz/mutate.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace accel::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kSeed = 20'260'101;
constexpr unsigned kMaxSeconds = 20;  // For one input.
constexpr rlim_t kMaxMemory = rlim_t{2} << 30;

struct Current {
  size_t size = 0;
  char bytes[64 << 10] = {};
};

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void RunOne(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

// Runs every input in this process, and exits.
[[noreturn]] void RunAll(const std::vector<std::string>& corpus, int runs, Current* current) {
#ifndef __SANITIZE_ADDRESS__  // Its shadow memory takes terabytes of addresses.
  const rlimit limit = {kMaxMemory, kMaxMemory};
  setrlimit(RLIMIT_AS, &limit);
#endif
  const auto run = [current](const std::string& input) {
    current->size = std::min(input.size(), sizeof(current->bytes));
    std::memcpy(current->bytes, input.data(), current->size);
    alarm(kMaxSeconds);
    RunOne(input);
  };
  for (const std::string& input : corpus) run(input);
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < runs; ++i) run(Mutate(corpus, random));
  _exit(EXIT_SUCCESS);
}

std::string HowItEnded(int status) {
  if (!WIFSIGNALED(status)) return "exited with " + std::to_string(WEXITSTATUS(status));
  if (WTERMSIG(status) == SIGALRM) return "took more than " + std::to_string(kMaxSeconds) + " s";
  return std::string("was killed: ") + strsignal(WTERMSIG(status));
}

void Explain(const std::string& name, const std::string& input, int status) {
  const char* const folder = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR");
  const fs::path file = fs::path(folder == nullptr ? "." : folder) / ("failing-" + name);
  std::ofstream(file, std::ios::binary) << input;
  std::fprintf(stderr,
               "%s %s with the %zu bytes in %s:\n  \"%s\"\n"
               "Run it again, in a debugger or under the sanitizers:\n"
               "  bazel-bin/tests/fuzz/%s_test FILE\n  tools/fuzz %s --replay FILE\n"
               "Once it is fixed, FILE belongs into tests/fuzz/corpus/%s.\n",
               name.c_str(), HowItEnded(status).c_str(), input.size(), file.c_str(),
               absl::CHexEscape(input).c_str(), name.c_str(), name.c_str(), name.c_str());
}

int Replay(const std::string& name, const fs::path& folder, int runs) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> corpus;
  for (const fs::path& path : paths) corpus.push_back(ReadFile(path));
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: there is no input\n", folder.c_str());
    return EXIT_FAILURE;
  }
  auto* const current = static_cast<Current*>(
      mmap(nullptr, sizeof(Current), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const pid_t child = fork();
  if (child == 0) RunAll(corpus, runs, current);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return EXIT_FAILURE;
  if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS) {
    std::printf("%s: %zu inputs and %d variants\n", name.c_str(), corpus.size(), runs);
    return EXIT_SUCCESS;
  }
  Explain(name, std::string(current->bytes, current->size), status);
  return EXIT_FAILURE;
}

}  // namespace
}  // namespace accel::fuzz

int main(int argc, char** argv) {
  if (argc == 4) return accel::fuzz::Replay(argv[1], argv[2], std::atoi(argv[3]));
  if (argc == 2) {
    accel::fuzz::RunOne(accel::fuzz::ReadFile(argv[1]));
    return EXIT_SUCCESS;
  }
  std::fprintf(stderr, "usage: %s NAME CORPUS RUNS | FILE\n", argv[0]);
  return 2;
}
