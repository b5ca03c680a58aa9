#include "cli/connection_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

TEST(CheckSocketAddress, TakesASocketThatOnlyItsOwnerCanMake) {
  char folder[] = "/tmp/grpc_target.XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string address = absl::StrCat("unix:", folder, "/coordinator");
  EXPECT_OK(CheckSocketAddress(address));
  ASSERT_EQ(chmod(folder, 0777), 0);
  EXPECT_THAT(CheckSocketAddress(address),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("other users can write")));
  ASSERT_EQ(rmdir(folder), 0);
  EXPECT_OK(CheckSocketAddress(address));  // The call will say that there is no coordinator.
  EXPECT_THAT(CheckSocketAddress("unix:coordinator"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("absolute")));
  EXPECT_THAT(CheckSocketAddress("127.0.0.1:7337"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no Unix socket")));
}

}  // namespace
}  // namespace accel::cli
