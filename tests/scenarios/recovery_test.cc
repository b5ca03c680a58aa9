// Plays every scenario with a coordinator that is killed after a commit, for each commit. What
// follows must be what would have followed without the crash: every expectation of the rest of the
// scenario holds (invariant 1).
//
// A line that starts with "# After a crash:" says what differs from there on, because a recovery
// forgets it on purpose (coordinator/core/recover.h). The rest of the scenario is then left out.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/scenarios/scenario.h"
#include "tests/scenarios/scenario_files.h"

namespace accel::scenarios {
namespace {

class Recovery : public ::testing::TestWithParam<std::string> {};

TEST_P(Recovery, FollowsEveryCommit) {
  const std::vector<std::string> lines = ReadLines(GetParam());
  Scenario undisturbed;
  for (const std::string& line : lines) ASSERT_TRUE(undisturbed.Play(line).ok()) << line;
  ASSERT_GE(undisturbed.commits(), 1);
  for (int commit = 1; commit <= undisturbed.commits(); ++commit) {
    Scenario scenario;
    scenario.CrashAfterCommit(commit);
    for (size_t i = 0; i < lines.size(); ++i) {
      const bool crashed = scenario.commits() >= commit;
      if (crashed && absl::StartsWith(lines[i], "# After a crash:")) break;
      const absl::Status played = scenario.Play(lines[i]);
      ASSERT_TRUE(played.ok()) << GetParam() << ":" << i + 1 << ", after a crash at commit "
                               << commit << ": " << lines[i] << "\n"
                               << played;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Recovery, ::testing::ValuesIn(ScenarioFiles()),
                         [](const auto& tested) {
                           return std::filesystem::path(tested.param).stem().string();
                         });

}  // namespace
}  // namespace accel::scenarios
