// Plays random schedules of a simulated cluster, or one schedule from a file. See CONTRIBUTING.md.

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/log.h"
#include "tests/simulation/play.h"

namespace accel::simulation {
namespace {

// Returns the exit code.
int Replay(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) {
    std::cerr << "simulate: cannot read " << path << "\n";
    return 2;
  }
  const absl::StatusOr<Schedule> schedule = ParseSchedule(text.str());
  if (!schedule.ok()) {
    std::cerr << "simulate: " << path << ": " << schedule.status().message() << "\n";
    return 2;
  }
  const Outcome outcome = Play(*schedule, NoBug);
  std::cout << outcome.status << "\n";
  return outcome.status.ok() ? 0 : 1;
}

int PlaySeeds(uint32_t first, uint32_t count) {
  const absl::Time start = absl::Now();
  absl::Duration simulated;
  uint32_t failed = 0;
  std::map<std::string, int> seen;  // The number of schedules that had each kind of fault.
  for (uint32_t seed = first; seed < first + count; ++seed) {
    const Outcome outcome = PlaySeed(seed, NoBug);
    simulated += outcome.simulated;
    for (const std::string& fault : outcome.seen) ++seen[fault];
    if (outcome.status.ok()) continue;
    ++failed;
    std::cout << outcome.status.message() << std::endl;
  }
  for (const auto& [fault, schedules] : seen) {
    std::cout << absl::StrCat(schedules, " schedules had a ", fault, "\n");
  }
  const absl::Duration took = absl::Now() - start;
  std::cout << absl::StrCat(count - failed, " of ", count, " schedules kept every invariant; ",
                            absl::FormatDuration(absl::Trunc(simulated, absl::Seconds(1))),
                            " simulated in ",
                            absl::FormatDuration(absl::Trunc(took, absl::Milliseconds(100))), "\n");
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace accel::simulation

int main(int argc, char** argv) {
  uint32_t seeds = 1000;
  uint32_t seed = 1;
  std::string replay;
  bool log = false;
  CLI::App app("Plays random schedules of a simulated cluster, or one schedule from a file.",
               "simulate");
  app.footer(
      "Exit codes: 0 every invariant was kept; 1 one was broken; 2 bad command line or file.");
  app.add_option("--seeds", seeds, "Number of random schedules")->capture_default_str();
  app.add_option("--seed", seed, "The seed of the first one")->capture_default_str();
  app.add_option("--replay", replay, "File with a schedule, as a failure prints it");
  app.add_flag("--log", log, "Write what the coordinator and the agents log to standard error");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  accel::common::InitLog("simulate",
                         log ? accel::common::LogLevel::kInfo : accel::common::LogLevel::kError);
  if (!replay.empty()) return accel::simulation::Replay(replay);
  return accel::simulation::PlaySeeds(seed, seeds);
}
