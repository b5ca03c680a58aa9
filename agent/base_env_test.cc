#include "agent/base_env.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace accel::agent {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::Not;
using ::testing::StartsWith;

TEST(BaseEnv, HasNeitherKeysNorTheAgentsOwnRank) {
  for (const char* name : {"ACCEL_SHIM", "ACCEL_COORDINATOR", "RANK", "LOCAL_RANK", "WORLD_SIZE",
                           "MASTER_PORT", "ACCEL_REPORT_SOCKET", "ACCEL_BEAT_SOCKET",
                           "ACCEL_LAUNCH_KEY", "ACCEL_LAUNCH_KEY_FILE", "ACCEL_LOGIN"}) {
    setenv(name, "1", /*overwrite=*/1);
  }
  setenv("ACCEL_LOGINS_OF_MINE", "kept", 1);
  setenv("EQUATION", "a=b", 1);
  const std::vector<std::string> env = BaseEnv();
  EXPECT_THAT(env, Contains("EQUATION=a=b"));
  EXPECT_THAT(env, Contains("ACCEL_LOGINS_OF_MINE=kept"));
  for (const char* gone :
       {"ACCEL_SHIM=", "ACCEL_COORDINATOR=", "RANK=", "LOCAL_RANK=", "WORLD_SIZE=", "MASTER_PORT=",
        "ACCEL_REPORT_SOCKET=", "ACCEL_BEAT_SOCKET=", "ACCEL_LAUNCH_KEY", "ACCEL_LOGIN="}) {
    EXPECT_THAT(env, Each(Not(StartsWith(gone))));
  }
}

TEST(UserBaseEnv, HasWhatALogInSetsAndNothingOfRoots) {
  setenv("SECRET_OF_ROOT", "hunter2", 1);
  setenv("HOME", "/root", 1);
  setenv("TZ", "Europe/Rome", 1);
  setenv("NCCL_DEBUG", "INFO", 1);
  setenv("ACCEL_LAUNCH_KEY", "hunter2", 1);
  const process::Account ann = {"ann", 1000, 1000, {1000}, "/home/ann", "/bin/zsh"};
  EXPECT_THAT(UserBaseEnv(ann, {"NCCL_DEBUG", "ACCEL_LAUNCH_KEY"}),
              ::testing::IsSupersetOf({"HOME=/home/ann", "LOGNAME=ann", "USER=ann",
                                       "SHELL=/bin/zsh", "TZ=Europe/Rome", "NCCL_DEBUG=INFO",
                                       "PATH=/usr/local/bin:/usr/bin:/bin"}));
  EXPECT_THAT(UserBaseEnv(ann, {"ACCEL_LAUNCH_KEY"}), Each(Not(::testing::HasSubstr("hunter2"))));
  EXPECT_THAT(UserBaseEnv({}, {}), Contains("SHELL=/bin/sh"));
}

}  // namespace
}  // namespace accel::agent
