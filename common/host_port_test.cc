#include "common/host_port.h"

#include <gtest/gtest.h>

#include "common/status_matchers.h"

namespace accel::common {
namespace {

TEST(HostPort, TakesNamesAndAddresses) {
  ASSERT_OK(ParseHostPort("127.0.0.1:7337"));
  EXPECT_EQ(ParseHostPort("127.0.0.1:7337")->host, "127.0.0.1");
  EXPECT_EQ(ParseHostPort("[::1]:0")->host, "::1");
  EXPECT_EQ(ParseHostPort("localhost:65535")->port, "65535");
}

TEST(HostPort, SaysWhatIsWrong) {
  for (const char* bad :
       {"", "host", ":1", "host:", "host:port", "host:-1", "host:65536", "::1:7"}) {
    EXPECT_EQ(ParseHostPort(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace accel::common
