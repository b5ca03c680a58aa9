#include "common/listen_address.h"

#include <gtest/gtest.h>

#include "common/status_matchers.h"

namespace accel {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(ListenAddress, TakesLoopback) {
  for (const char* text : {"127.0.0.1:7337", "127.1.2.3:0", "[::1]:65535", "localhost:1"}) {
    const auto address = ParseLoopbackAddress(text);
    ASSERT_OK(address) << text;
    EXPECT_EQ(address->ToString(), text);
  }
}

TEST(ListenAddress, RefusesWhatOthersReach) {
  for (const char* text : {"0.0.0.0:7337", "10.0.0.1:7337", "[::]:7337", "127.evil.example:7337",
                           "node7:7337", "[2001:db8::1]:7337"}) {
    EXPECT_THAT(ParseLoopbackAddress(text),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("this machine only")));
  }
}

TEST(ListenAddress, RefusesWhatIsNone) {
  for (const char* text :
       {"", "127.0.0.1", ":7337", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1"}) {
    EXPECT_THAT(ParseLoopbackAddress(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("HOST:PORT")));
  }
}

}  // namespace
}  // namespace accel
