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

TEST(GrpcTarget, TakesLoopbackAddresses) {
  EXPECT_EQ(*GrpcTarget("127.0.0.1:7337"), "ipv4:127.0.0.1:7337");
  EXPECT_EQ(*GrpcTarget("127.8.9.1:1"), "ipv4:127.8.9.1:1");
  EXPECT_EQ(*GrpcTarget("[::1]:65535"), "ipv6:[::1]:65535");
  EXPECT_EQ(*GrpcTarget("localhost:7337"), "dns:///localhost:7337");
}

TEST(GrpcTarget, RefusesAddressesBeyondLoopback) {
  for (const char* far : {"10.0.0.1:7337", "node7:7337", "127.evil.org:7337", "[fe80::1]:7337"}) {
    EXPECT_THAT(GrpcTarget(far),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("run: accel login")))
        << far;
  }
}

TEST(GrpcTarget, TakesAUnixSocketThatOnlyItsOwnerCanMake) {
  char folder[] = "/tmp/grpc_target.XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string address = absl::StrCat("unix:", folder, "/coordinator");
  EXPECT_EQ(*GrpcTarget(address), address);
  ASSERT_EQ(chmod(folder, 0777), 0);
  EXPECT_THAT(GrpcTarget(address),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("other users can write")));
  ASSERT_EQ(rmdir(folder), 0);
  EXPECT_EQ(*GrpcTarget(address), address);  // The call will say that there is no coordinator.
  EXPECT_THAT(GrpcTarget("unix:coordinator"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("absolute")));
}

TEST(GrpcTarget, NeedsHostAndPort) {
  for (const char* bad : {"", "127.0.0.1", ":7337", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:x",
                          "127.0.0.1:65536", "localhost:-1"}) {
    EXPECT_THAT(GrpcTarget(bad),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("must be HOST:PORT")))
        << bad;
  }
}

}  // namespace
}  // namespace accel::cli
