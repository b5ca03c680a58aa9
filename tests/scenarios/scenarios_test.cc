// Plays every .txt file of this folder. scenario.h has the steps.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/scenarios/scenario.h"
#include "tests/scenarios/scenario_files.h"

namespace accel::scenarios {
namespace {

class Scenarios : public ::testing::TestWithParam<std::string> {};

TEST_P(Scenarios, GoAsWritten) {
  std::ifstream file(GetParam());
  ASSERT_TRUE(file.is_open());
  Scenario scenario;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const absl::Status played = scenario.Play(line);
    ASSERT_TRUE(played.ok()) << GetParam() << ":" << number << ": " << line << "\n" << played;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Scenarios, ::testing::ValuesIn(ScenarioFiles()),
                         [](const auto& tested) {
                           return std::filesystem::path(tested.param).stem().string();
                         });

// If the folder were not found, no scenario would be played and the test would pass.
TEST(ScenarioFiles, AreFound) { EXPECT_GE(ScenarioFiles().size(), 10u); }

TEST(Scenario, AnUnmetExpectationFails) {
  Scenario scenario;
  ASSERT_TRUE(scenario.Play("submit").ok());
  EXPECT_EQ(scenario.Play("expect j1 RUNNING").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(scenario.Play("expect j2 RUNNING").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(scenario.Play("dance").code(), absl::StatusCode::kInvalidArgument);
}

TEST(Scenario, AnUnmetExpectationSaysWhichLineHolds) {
  const auto holds = [](Scenario* scenario, const char* line) {
    return LineThatHolds(scenario->Play(line)).value_or("nothing");
  };
  Scenario scenario;
  ASSERT_TRUE(scenario.Play("node a gpus=1").ok());
  ASSERT_TRUE(scenario.Play("submit nodes=2 ppn=1").ok());
  EXPECT_EQ(holds(&scenario, "expect j1 RUNNING"), "expect j1 PENDING");
  EXPECT_EQ(
      holds(&scenario, "expect j1 RUNNING ~ ranks run").rfind("expect j1 PENDING ~ Needs 2", 0),
      0u);
  EXPECT_EQ(holds(&scenario, "expect j1 PENDING ~ Nothing").rfind("expect j1 PENDING ~ Needs 2", 0),
            0u);
  EXPECT_EQ(holds(&scenario, "expect j1 failures=3"), "expect j1 failures=0");
  EXPECT_EQ(holds(&scenario, "desired a = j1.1 ranks 0-0"), "desired a = nothing");
  EXPECT_EQ(holds(&scenario, "refuses a = all"), "refuses a = nothing");
  EXPECT_EQ(holds(&scenario, "stale_counts sessions=1 generations=1"),
            "stale_counts sessions=0 generations=0");
  ASSERT_TRUE(scenario.Play("node b gpus=1").ok());
  EXPECT_EQ(holds(&scenario, "env a j1.1 0 RANK=1"), "env a j1.1 0 RANK=0");
  EXPECT_EQ(holds(&scenario, "env a j1.1 0 RANK!"), "env a j1.1 0 RANK=0");
  EXPECT_EQ(holds(&scenario, "env a j1.1 0 NONE=1"), "env a j1.1 0 NONE!");
  // The suggested lines do hold.
  EXPECT_TRUE(scenario.Play(holds(&scenario, "desired a = nothing")).ok());
  EXPECT_TRUE(scenario.Play(holds(&scenario, "env a j1.1 0 RANK!")).ok());
  // A person must change these lines, so none is suggested.
  EXPECT_EQ(holds(&scenario, "expect j1 STARTING"), "nothing");
  EXPECT_EQ(holds(&scenario, "all_over"), "nothing");
  EXPECT_EQ(holds(&scenario, "dance"), "nothing");
}

}  // namespace
}  // namespace accel::scenarios
