// Plays every .txt file of this folder.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/scenarios/scenario.h"

namespace accel::testing {
namespace {

std::vector<std::string> ScenarioFiles() {
  const char* root = std::getenv("TEST_SRCDIR");
  const char* workspace = std::getenv("TEST_WORKSPACE");
  std::vector<std::string> files;
  if (root == nullptr || workspace == nullptr) return files;
  const auto folder = std::filesystem::path(root) / workspace / "tests/scenarios";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() == ".txt") files.push_back(file.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

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
                         [](const auto& info) {
                           return std::filesystem::path(info.param).stem().string();
                         });

// A folder that was not found must not look like scenarios that passed.
TEST(ScenarioFiles, AreFound) { EXPECT_GE(ScenarioFiles().size(), 10u); }

TEST(Scenario, AnUnmetExpectationFails) {
  Scenario scenario;
  ASSERT_TRUE(scenario.Play("submit").ok());
  EXPECT_EQ(scenario.Play("expect j1 RUNNING").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(scenario.Play("expect j2 RUNNING").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(scenario.Play("dance").code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace accel::testing
