#include "cli/connect.h"

#include <stdlib.h>

#include <string>

#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using ::accel::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Connects as a user who has no login.
absl::Status Connect(const std::string& coordinator) {
  std::string home = ::testing::TempDir() + "/homeXXXXXX";
  EXPECT_NE(mkdtemp(home.data()), nullptr);
  setenv("HOME", home.c_str(), /*overwrite=*/1);
  return ConnectToCoordinator({.coordinator = coordinator}).status();
}

TEST(ConnectTest, AnAddressWithoutALoginIsRefused) {
  EXPECT_THAT(Connect("10.0.0.1:7337"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("accel login"), Not(HasSubstr("Unix socket")))));
}

TEST(ConnectTest, OnTheCoordinatorsMachineTheSocketIsNamed) {
  for (const char* address : {"127.0.0.1:7337", "localhost:7337", "[::1]:7337"}) {
    EXPECT_THAT(Connect(address), StatusIs(absl::StatusCode::kFailedPrecondition,
                                           HasSubstr("which uses the Unix socket")));
  }
}

}  // namespace
}  // namespace accel::cli
