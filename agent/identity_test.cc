#include "agent/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"

namespace accel::agent {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(MakeIdentity, EachStartIsAnotherIncarnationOfTheSameNode) {
  const auto first = MakeIdentity(common::NodeId("n"), "name", "127.0.0.1", v1::Inventory());
  const auto second = MakeIdentity(common::NodeId("n"), "name", "127.0.0.1", v1::Inventory());
  ASSERT_OK(first);
  ASSERT_OK(second);
  EXPECT_EQ(first->node_id(), "n");
  EXPECT_EQ(first->boot_id(), second->boot_id());
  EXPECT_EQ(first->interface(), "lo");
  EXPECT_EQ(first->incarnation().size(), 16u);
  EXPECT_NE(first->incarnation(), second->incarnation());
}

TEST(MakeIdentity, AnAddressOfAnotherMachineIsRefused) {
  EXPECT_THAT(MakeIdentity(common::NodeId("n"), "name", "192.0.2.1", v1::Inventory()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("192.0.2.1")));
}

}  // namespace
}  // namespace accel::agent
