#include "cli/machines/launch_secret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using accel::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

class LaunchSecretTest : public ::testing::Test {
 protected:
  LaunchSecretTest() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    home_ = absl::StrCat(::testing::TempDir(), "/", info->name());
    std::filesystem::create_directories(home_);
    setenv("HOME", home_.c_str(), 1);
    unsetenv("ACCEL_LAUNCH_KEY");
    unsetenv("ACCEL_LAUNCH_KEY_FILE");
  }

  std::string Write(const std::string& name, const std::string& text, mode_t mode = 0600) {
    const std::string path = absl::StrCat(home_, "/", name);
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
    return path;
  }

  std::string home_;
};

TEST_F(LaunchSecretTest, IsMadeOnceInTheHome) {
  ASSERT_OK_AND_ASSIGN(const LaunchSecret first, FindLaunchSecret());
  ASSERT_OK_AND_ASSIGN(const LaunchSecret second, FindLaunchSecret());
  EXPECT_EQ(first.value, second.value);
  EXPECT_GE(first.value.size(), kLeastSecretBytes);
  EXPECT_EQ(first.source, absl::StrCat("in ", home_, "/.config/accel/token"));
}

TEST_F(LaunchSecretTest, TheNamedFileComesBeforeTheVariable) {
  setenv("ACCEL_LAUNCH_KEY", std::string(22, 'v').c_str(), 1);
  ASSERT_OK_AND_ASSIGN(LaunchSecret secret, FindLaunchSecret());
  EXPECT_EQ(secret.value, std::string(22, 'v'));
  EXPECT_EQ(secret.source, "in ACCEL_LAUNCH_KEY");
  setenv("ACCEL_LAUNCH_KEY_FILE", Write("key", std::string(30, 'f') + "\n").c_str(), 1);
  ASSERT_OK_AND_ASSIGN(secret, FindLaunchSecret());
  EXPECT_EQ(secret.value, std::string(30, 'f'));
}

TEST_F(LaunchSecretTest, WhatIsNoSecretIsRefusedWithoutBeingShown) {
  const std::string guess = "hunter2hunter2hunter2";
  setenv("ACCEL_LAUNCH_KEY", guess.c_str(), 1);
  EXPECT_THAT(FindLaunchSecret(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("has 21 characters")));
  EXPECT_THAT(std::string(FindLaunchSecret().status().message()), Not(HasSubstr(guess)));
  setenv("ACCEL_LAUNCH_KEY", "twenty-two words or so", 1);
  EXPECT_THAT(FindLaunchSecret(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("without spaces")));
}

TEST_F(LaunchSecretTest, AFileThatOthersReadIsRefused) {
  setenv("ACCEL_LAUNCH_KEY_FILE", Write("key", std::string(30, 'f'), 0644).c_str(), 1);
  EXPECT_THAT(FindLaunchSecret(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("chmod 600")));
  setenv("ACCEL_LAUNCH_KEY_FILE", "/no/such/file", 1);
  EXPECT_THAT(FindLaunchSecret(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/such/file")));
}

}  // namespace
}  // namespace accel::cli
