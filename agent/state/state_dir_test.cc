#include "agent/state/state_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "common/status_matchers.h"

namespace accel::agent {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

std::string NewDir(const std::string& name) {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
  std::filesystem::remove_all(path);
  return path;
}

TEST(StateDir, ANodeKeepsItsId) {
  const std::string path = NewDir("keeps");
  common::NodeId first;
  {
    absl::StatusOr<StateDir> dir = StateDir::Open(path, absl::ZeroDuration());
    ASSERT_OK(dir);
    first = dir->node_id();
    EXPECT_EQ(first.value().size(), 16u);
  }
  absl::StatusOr<StateDir> again = StateDir::Open(path, absl::ZeroDuration());
  ASSERT_OK(again);
  EXPECT_EQ(again->node_id(), first);
}

TEST(StateDir, ANodeKeepsItsClusterUntilItForgetsIt) {
  const std::string path = NewDir("cluster");
  const auto cluster = [&path] {
    const absl::StatusOr<StateDir> dir = StateDir::Open(path, absl::ZeroDuration());
    EXPECT_OK(dir);
    return dir->cluster_id();
  };
  EXPECT_EQ(cluster(), "");
  EXPECT_OK(StateDir::Open(path, absl::ZeroDuration())->RememberCluster("c1"));
  EXPECT_EQ(cluster(), "c1");
  EXPECT_OK(StateDir::Open(path, absl::ZeroDuration())->ForgetCluster());
  EXPECT_EQ(cluster(), "");
  EXPECT_OK(StateDir::Open(path, absl::ZeroDuration())->ForgetCluster());
}

// Output of jobs that ran as the agent does not become readable for all once the directory is open.
TEST(StateDir, WhatWasThereIsClosedBeforeUsersPass) {
  const std::string path = NewDir("opened");
  absl::StatusOr<StateDir> dir = StateDir::Open(path, absl::ZeroDuration());
  ASSERT_OK(dir);
  std::filesystem::create_directories(path + "/jobs/old/gen_1");
  std::filesystem::permissions(path + "/jobs/old", static_cast<std::filesystem::perms>(0755));
  ASSERT_OK(dir->LetUsersPass());
  const auto mode = [&](const std::string& of) {
    return static_cast<unsigned>(std::filesystem::status(path + of).permissions());
  };
  EXPECT_EQ(mode(""), 0711u);
  EXPECT_EQ(mode("/jobs"), 0711u);
  EXPECT_EQ(mode("/jobs/old"), 0700u);
}

TEST(StateDir, TwoAgentsCannotShareIt) {
  const std::string path = NewDir("shared");
  absl::StatusOr<StateDir> dir = StateDir::Open(path, absl::ZeroDuration());
  ASSERT_OK(dir);
  EXPECT_THAT(StateDir::Open(path, absl::ZeroDuration()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(std::to_string(getpid()))));
}

TEST(StateDir, ACopyIsAnotherNode) {
  const std::string path = NewDir("original");
  const auto id_of = [](const std::string& dir) {
    absl::StatusOr<StateDir> open = StateDir::Open(dir, absl::ZeroDuration());
    EXPECT_OK(open);
    return open.ok() ? open->node_id().value() : "";
  };
  const std::string original = id_of(path);
  const std::string copy = NewDir("copy");
  std::filesystem::create_directories(path + "/shims/job");
  std::ofstream(path + "/shims/job/record") << "of the original";
  std::filesystem::copy(path, copy, std::filesystem::copy_options::recursive);
  const std::string other = id_of(copy);
  EXPECT_FALSE(std::filesystem::exists(copy + "/shims")) << "the copy must not end its jobs";
  EXPECT_TRUE(std::filesystem::exists(path + "/shims/job/record"));
  EXPECT_NE(other, original);
  EXPECT_EQ(id_of(copy), other);
  EXPECT_EQ(id_of(path), original);

  const std::string moved = NewDir("moved");
  std::filesystem::rename(path, moved);
  EXPECT_EQ(id_of(moved), original) << "a directory that was renamed is the same one";
}

// A directory from a version that did not write the inode.
TEST(StateDir, AnIdAloneIsTakenOver) {
  const std::string path = NewDir("old");
  std::filesystem::create_directories(path);
  std::ofstream(path + "/node_id") << "0123456789abcdef\n";
  for (int i = 0; i < 2; ++i) {
    absl::StatusOr<StateDir> dir = StateDir::Open(path, absl::ZeroDuration());
    ASSERT_OK(dir);
    EXPECT_EQ(dir->node_id().value(), "0123456789abcdef");
  }
}

TEST(StateDir, SaysWhichPathItCannotMake) {
  EXPECT_THAT(StateDir::Open("/proc/nowhere", absl::ZeroDuration()).status().ToString(),
              HasSubstr("/proc/nowhere"));
}

}  // namespace
}  // namespace accel::agent
