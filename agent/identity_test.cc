#include "agent/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "agent/probe/inventory.h"
#include "common/status_matchers.h"
#include "security/issue.h"

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

// Returns the certificate of a node, as a coordinator of this version issues it, or, without a
// name, one of an earlier version.
std::string CertificateOf(const std::string& name) {
  const auto authority = security::MakeAuthority("c1", absl::Now());
  const auto key = security::PrivateKey::Make();
  const auto made = security::IssueClient(
      *authority, key->public_key(),
      {"c1", security::PrincipalKind::kNode, "n1", *security::MakeSerial()}, absl::Now(), name);
  EXPECT_OK(made);
  return made->ToPem();
}

TEST(NodeName, IsThatOfTheCertificate) {
  const std::string certificate = CertificateOf("n7");
  EXPECT_EQ(*NodeName("", certificate), "n7");
  EXPECT_EQ(*NodeName("n7", certificate), "n7");
  EXPECT_THAT(NodeName("n8", certificate), StatusIs(absl::StatusCode::kInvalidArgument,
                                                    HasSubstr("has joined its cluster as n7")));
}

// Nodes that joined before certificates had names still start.
TEST(NodeName, ACertificateMayHaveNone) {
  const std::string certificate = CertificateOf("");
  EXPECT_EQ(*NodeName("n8", certificate), "n8");
  EXPECT_EQ(*NodeName("", certificate), HostName());
  EXPECT_EQ(*NodeName("", ""), HostName());
}

}  // namespace
}  // namespace accel::agent
