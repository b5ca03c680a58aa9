#include "agent/probe/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"

namespace accel::agent {
namespace {

using ::testing::_;
using ::testing::HasSubstr;

TEST(Network, ReachesLoopbackFromLoopback) {
  const absl::StatusOr<std::string> source = SourceAddressTo("127.0.0.1", "7337");
  ASSERT_OK(source);
  EXPECT_EQ(*source, "127.0.0.1");
}

TEST(Network, ANameThatDoesNotResolveIsNamed) {
  EXPECT_THAT(SourceAddressTo("no host has spaces", "1"),
              accel::testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("no host has spaces")));
}

TEST(Network, LoopbackHasOneInterface) {
  const absl::StatusOr<std::string> one = InterfaceOf("127.0.0.1");
  const absl::StatusOr<std::string> two = InterfaceOf("127.0.0.2");
  ASSERT_OK(one);
  ASSERT_OK(two);
  EXPECT_EQ(*one, *two);
  EXPECT_THAT(InterfaceOf("192.0.2.1"), accel::testing::StatusIs(absl::StatusCode::kNotFound, _));
}

}  // namespace
}  // namespace accel::agent
