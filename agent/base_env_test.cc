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

TEST(BaseEnv, HasNeitherTheTokenNorTheAgentsOwnRank) {
  for (const char* name : {"ACCEL_TOKEN", "ACCEL_SHIM", "ACCEL_COORDINATOR", "RANK", "LOCAL_RANK",
                           "WORLD_SIZE", "MASTER_PORT", "ACCEL_REPORT_SOCKET", "ACCEL_LAUNCH_KEY",
                           "ACCEL_LAUNCH_KEY_FILE", "ACCEL_LOGIN"}) {
    setenv(name, "1", /*overwrite=*/1);
  }
  setenv("ACCEL_TOKENS_OF_MINE", "kept", 1);
  setenv("EQUATION", "a=b", 1);
  const std::vector<std::string> env = BaseEnv();
  EXPECT_THAT(env, Contains("EQUATION=a=b"));
  EXPECT_THAT(env, Contains("ACCEL_TOKENS_OF_MINE=kept"));
  for (const char* gone :
       {"ACCEL_TOKEN=", "ACCEL_SHIM=", "ACCEL_COORDINATOR=", "RANK=", "LOCAL_RANK=", "WORLD_SIZE=",
        "MASTER_PORT=", "ACCEL_REPORT_SOCKET=", "ACCEL_LAUNCH_KEY", "ACCEL_LOGIN"}) {
    EXPECT_THAT(env, Each(Not(StartsWith(gone))));
  }
}

}  // namespace
}  // namespace accel::agent
