#include "coordinator/members/rotation_progress.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_matchers.h"
#include "security/issue.h"

namespace accel::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

class RotationProgressTest : public ::testing::Test {
 protected:
  // Adds a valid certificate of a node, and returns its serial.
  std::string Add(const security::Authority& issuer, const std::string& node) {
    const security::PrivateKey key = *security::PrivateKey::Make();
    const std::string serial = *security::MakeSerial();
    const auto leaf = security::IssueClient(
        issuer, key.public_key(), {"c1", security::PrincipalKind::kNode, node, serial}, kNow);
    EXPECT_OK(leaf);
    v1::Member& member = state_.members[{v1::NODE_MEMBER, node}];
    member.set_id(node);
    member.set_name("name-of-" + node);
    v1::Credential& credential = state_.credentials[serial];
    credential.set_serial(serial);
    credential.set_kind(v1::NODE_MEMBER);
    credential.set_member(node);
    credential.set_certificate(leaf->ToPem());
    credential.set_expires_unix_ms(absl::ToUnixMillis(leaf->not_after()));
    return serial;
  }

  RotationProgress Count() const { return CountCertificates(state_, next_.certificate, kNow); }

  const security::Authority old_ = *security::MakeAuthority("c1", kNow);
  const security::Authority next_ = *security::MakeAuthority("c1", kNow);
  AccessState state_;
};

TEST_F(RotationProgressTest, TheEndOfARotationEndsFormerCertificates) {
  const std::string old = Add(old_, "n1"), fresh = Add(next_, "n2");
  AccessChanges changes;
  EXPECT_EQ(EndFormerCertificates(next_.certificate, kNow, &state_, &changes), 1);
  EXPECT_THAT(changes.credentials, ElementsAre(old));
  EXPECT_EQ(state_.credentials[old].state(), v1::Credential::REPLACED);
  EXPECT_EQ(state_.credentials[fresh].state(), v1::Credential::VALID);
  EXPECT_EQ(EndFormerCertificates(next_.certificate, kNow, &state_, &changes), 0);
}

TEST_F(RotationProgressTest, ACertificateIsFormerUntilTheNewOneHasReplacedIt) {
  EXPECT_THAT(Count().former, IsEmpty());
  const std::string old = Add(old_, "n1");
  state_.credentials[old].set_seen_unix_ms(absl::ToUnixMillis(kNow - absl::Hours(30)));
  ASSERT_EQ(Count().former.size(), 1u);
  EXPECT_EQ(Count().former[0].name, "name-of-n1");
  EXPECT_EQ(Count().former[0].serial, old);
  EXPECT_FALSE(Count().former[0].is_renewed);
  EXPECT_EQ(Count().issued, 0);
  // Its answer may have been lost.
  state_.credentials[Add(next_, "n1")].set_replaces(old);
  ASSERT_EQ(Count().former.size(), 1u);
  EXPECT_TRUE(Count().former[0].is_renewed);
  EXPECT_EQ(Count().issued, 1);
  EXPECT_THAT(Describe(Count().former), HasSubstr("node name-of-n1, certificate " + old));
  EXPECT_THAT(Describe(Count().former), HasSubstr("last used 2027-01-14"));
  EXPECT_THAT(Describe(Count().former), HasSubstr("was not used yet"));
  state_.credentials[old].set_state(v1::Credential::REPLACED);
  EXPECT_THAT(Count().former, IsEmpty());
}

TEST_F(RotationProgressTest, OneThatIsRefusedAnywayIsNotWaitedFor) {
  state_.credentials[Add(old_, "n1")].set_state(v1::Credential::REVOKED);
  state_.credentials[Add(old_, "n2")].set_expires_unix_ms(absl::ToUnixMillis(kNow) - 1);
  EXPECT_THAT(Count().former, IsEmpty());
  // What cannot be read would not be accepted by anyone.
  state_.credentials[Add(next_, "n3")].set_certificate("damaged");
  EXPECT_EQ(Count().former.size(), 1u);
}

TEST_F(RotationProgressTest, ALongListIsCut) {
  for (int i = 0; i < 23; ++i) Add(old_, absl::StrCat("n", i));
  const std::string text = Describe(Count().former);
  EXPECT_EQ(std::vector<std::string>(absl::StrSplit(text, '\n')).size(), 22u);
  EXPECT_THAT(text, HasSubstr("  and 3 more\n"));
  EXPECT_THAT(text, HasSubstr("never used"));
  EXPECT_THAT(text, Not(HasSubstr("PRIVATE")));
}

}  // namespace
}  // namespace accel::coordinator
