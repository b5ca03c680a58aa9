#include "common/loopback.h"

#include <gtest/gtest.h>

namespace accel::common {
namespace {

TEST(Loopback, IsThisMachine) {
  for (const char* host : {"127.0.0.1", "127.1.2.3", "::1", "localhost"}) {
    EXPECT_TRUE(IsLoopback(host)) << host;
  }
}

TEST(Loopback, ExcludesAllOtherAddresses) {
  for (const char* host : {"0.0.0.0", "10.0.0.1", "::", "127.evil.example", "127.0.0", "node7",
                           "2001:db8::1", "128.0.0.1", ""}) {
    EXPECT_FALSE(IsLoopback(host)) << host;
  }
}

}  // namespace
}  // namespace accel::common
