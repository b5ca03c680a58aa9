// A worker that joins its world, all-reduces one float and exits. The benchmarks of launching and
// restarting run it.
//
//   first_collective [--crash FILE]
//
// With --crash, rank 1 of the first generation (TORCHELASTIC_RESTART_COUNT=0) writes the monotonic
// time in nanoseconds to FILE after the collective, and kills itself. Rank 0 of a later generation
// prints how many milliseconds after that its main() began and its first all-reduce was finished.
#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>

#include "runtime/comm/communicator.h"
#include "runtime/process/read_environment.h"

namespace {

std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

void write_time(const std::string& file, std::int64_t now) {
  std::ofstream(file) << now << std::endl;
}

std::int64_t read_time(const std::string& file) {
  std::int64_t time = 0;
  std::ifstream(file) >> time;
  return time;
}

double milliseconds(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

// Exits without destructors, because LibTorch's static destructors take 90 ms and Gloo's threads 20
// ms, and neither is to measure.
[[noreturn]] void leave() {
  std::fflush(stdout);
  std::_Exit(0);
}

[[noreturn]] void work(const std::string& crash_file, std::int64_t begun) {
  const accel::runtime::Environment environment = accel::runtime::read_environment();
  auto communicator =
      accel::runtime::Communicator::join(environment, c10::kCPU, std::chrono::minutes(1));
  at::Tensor one = at::ones({1});
  communicator->all_reduce_sum(one);
  const std::int64_t reduced = monotonic_ns();
  if (*one.const_data_ptr<float>() != static_cast<float>(environment.world_size)) {
    throw std::runtime_error("the sum is wrong");
  }
  if (crash_file.empty()) leave();
  if (environment.restart_count == 0) {
    if (environment.rank == 1) {
      write_time(crash_file, monotonic_ns());
      kill(getpid(), SIGKILL);
    }
    // Fails once the peer is gone, as training would.
    for (;;) communicator->all_reduce_sum(one);
  }
  if (environment.rank == 0) {
    const std::int64_t killed = read_time(crash_file);
    std::printf("since the kill: main %.1f ms, first all-reduce %.1f ms\n",
                milliseconds(begun - killed), milliseconds(reduced - killed));
  }
  leave();
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t begun = monotonic_ns();
  const std::string crash_file = argc == 3 && argv[1] == std::string("--crash") ? argv[2] : "";
  try {
    work(crash_file, begun);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "first_collective: %s\n", error.what());
    return 1;
  }
}
