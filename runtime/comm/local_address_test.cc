#include "runtime/comm/local_address.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace accel::runtime {
namespace {

TEST(LocalAddressTest, LoopbackIsReachedFromLoopback) {
  EXPECT_EQ(local_address_towards("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(local_address_towards("127.0.0.5"), "127.0.0.1");
}

TEST(LocalAddressTest, RefusesANameThatDoesNotResolve) {
  EXPECT_THROW(local_address_towards("no such host"), std::runtime_error);
}

}  // namespace
}  // namespace accel::runtime
