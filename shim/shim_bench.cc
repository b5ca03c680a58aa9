// Measures the process layer and prints one figure per line.
//
//   shim_bench PATH_OF_ACCEL_SHIM LOG_FOLDER
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/clock.h"
#include "logs/log_paths.h"
#include "process/process_table.h"
#include "process/sweep.h"
#include "shim/host/posix_shim_host.h"

namespace accel::shim {
namespace {

using State = GenerationReport::State;

StartCommand MakeStart(const std::string& folder, int generation, std::vector<std::string> argv) {
  StartCommand start;
  start.id = {common::JobId("bench"), generation};
  start.argv = std::move(argv);
  for (int rank = 0; rank < 2; ++rank) start.workers.push_back({rank, rank, {"PATH=/bin"}});
  start.log_dir = absl::StrCat(folder, "/", generation);
  return start;
}

void AwaitState(PosixShimHost* host, State state) {
  while (true) {
    for (const ShimReport& report : host->TakeReports()) {
      if (report.generation && report.generation->state >= state) return;
    }
    pollfd wake = {host->wake_fd(), POLLIN, 0};
    poll(&wake, 1, -1);
  }
}

void AwaitShimEnd(PosixShimHost* host) {
  host->EndShim(common::JobId("bench"));
  while (true) {
    for (const ShimReport& report : host->TakeReports()) {
      if (report.shim_ended) return;
    }
    pollfd wake = {host->wake_fd(), POLLIN, 0};
    poll(&wake, 1, -1);
  }
}

void Print(const char* what, std::vector<double> values, const char* unit) {
  std::sort(values.begin(), values.end());
  std::printf("%-46s median %8.3f  min %8.3f  max %8.3f %s\n", what, values[values.size() / 2],
              values.front(), values.back(), unit);
}

void MeasureRoundTrips(PosixShimHost* host, const std::string& folder, const char* what) {
  std::vector<double> cold, warm;
  int generation = 0;
  for (int i = 0; i < 50; ++i) {
    absl::Time begin = common::SteadyClock()->Now();
    ACCEL_CHECK(host->StartShim(common::JobId("bench")).ok(), "the shim's path is right");
    for (std::vector<double>* into : {&cold, &warm}) {
      const auto start = MakeStart(folder, ++generation, {"/bin/true"});
      ACCEL_CHECK(host->StartGeneration(start, common::UniqueFd()).ok(), "the shim runs");
      AwaitState(host, State::kEnded);
      into->push_back(absl::ToDoubleMilliseconds(common::SteadyClock()->Now() - begin));
      begin = common::SteadyClock()->Now();
    }
    AwaitShimEnd(host);
  }
  Print(absl::StrCat(what, ": new shim, 2 x /bin/true, ended").c_str(), cold, "ms");
  Print(absl::StrCat(what, ": same shim, 2 x /bin/true, ended").c_str(), warm, "ms");
}

void PrintMemory() {
  for (const process::ProcessEntry& entry : process::ReadProcessTable()) {
    if (entry.parent != getpid()) continue;
    std::ifstream status(absl::StrCat("/proc/", entry.pid, "/status"));
    for (std::string line; std::getline(status, line);) {
      if (absl::StartsWith(line, "Vm") || absl::StartsWith(line, "Rss")) {
        std::printf("shim %s\n", line.c_str());
      }
    }
  }
}

void MeasureFlood(PosixShimHost* host, const std::string& folder) {
  constexpr int kGeneration = 1000;
  const double gigabytes = 4;
  ACCEL_CHECK(host->StartShim(common::JobId("bench")).ok(), "the shim's path is right");
  auto start = MakeStart(folder, kGeneration, {"/bin/sh", "-c", "yes | head -c 4000000000"});
  start.workers.resize(1);
  const absl::Time begin = common::SteadyClock()->Now();
  ACCEL_CHECK(host->StartGeneration(start, common::UniqueFd()).ok(), "the shim runs");
  AwaitState(host, State::kEnded);
  const double seconds = absl::ToDoubleSeconds(common::SteadyClock()->Now() - begin);
  std::printf("yes | head: %.2f GB/s\n", gigabytes / seconds);
  PrintMemory();
  start = MakeStart(folder, kGeneration + 1, {"yes"});
  start.workers.resize(1);
  ACCEL_CHECK(host->StartGeneration(start, common::UniqueFd()).ok(), "the shim runs");
  AwaitState(host, State::kRunning);
  const std::string rank_dir = logs::RankLogDir(start.log_dir, 0);
  const absl::Time flood = common::SteadyClock()->Now();
  usleep(3'000'000);
  const auto segments = logs::ListSegments(rank_dir, logs::LogStream::kStdout);
  std::printf("yes: %.2f GB/s\n", static_cast<double>(segments.back()) / 1e9 /
                                      absl::ToDoubleSeconds(common::SteadyClock()->Now() - flood));
  AwaitShimEnd(host);
}

void MeasureIdleMemory(PosixShimHost* host, const std::string& folder) {
  ACCEL_CHECK(host->StartShim(common::JobId("bench")).ok(), "the shim's path is right");
  auto start = MakeStart(folder, 2000, {"sleep", "60"});
  ACCEL_CHECK(host->StartGeneration(start, common::UniqueFd()).ok(), "the shim runs");
  AwaitState(host, State::kRunning);
  PrintMemory();
  AwaitShimEnd(host);
}

}  // namespace
}  // namespace accel::shim

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  accel::process::BecomeSubreaper();
  const accel::process::CgroupSupport cgroups = accel::process::ProbeCgroups();
  std::printf("cgroups: %s\n", cgroups.description.c_str());
  const std::string folder = argv[2];
  {
    accel::shim::PosixShimHost host({argv[1], {}});
    accel::shim::MeasureRoundTrips(&host, folder + "/without", "no cgroup");
  }
  {
    accel::shim::PosixShimHost host({argv[1], cgroups});
    accel::shim::MeasureRoundTrips(&host, folder + "/with", "cgroup");
    accel::shim::MeasureIdleMemory(&host, folder);
    accel::shim::MeasureFlood(&host, folder);
  }
  return 0;
}
