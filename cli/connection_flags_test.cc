#include "cli/connection_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    EXPECT_THAT(GrpcTarget(far), StatusIs(absl::StatusCode::kFailedPrecondition,
                                          HasSubstr("loopback addresses only")))
        << far;
  }
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
