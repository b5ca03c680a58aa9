#include "security/rotation.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"
#include "security/issue.h"

namespace accel::security {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

class RotationTest : public ::testing::Test {
 protected:
  ClientIdentity Identity(const Authority& issuer, const std::string& authorities) const {
    const auto leaf = IssueClient(issuer, key_.public_key(),
                                  {"c1", PrincipalKind::kUser, "ann", *MakeSerial()}, kNow);
    EXPECT_OK(leaf);
    return {key_.ToPem(), leaf->ToPem(), authorities};
  }

  const PrivateKey key_ = *PrivateKey::Make();
  // Both have the same name, so only their keys differ.
  const Authority old_ = *MakeAuthority("c1", kNow);
  const Authority next_ = *MakeAuthority("c1", kNow);
  const std::string old_only_ = old_.certificate.ToPem();
  const std::string next_only_ = next_.certificate.ToPem();
  const std::string both_ = absl::StrCat(next_only_, old_only_);
};

TEST_F(RotationTest, AClientIsOutdatedUntilItHasWhatTheCoordinatorWouldGiveIt) {
  const std::string steady = NameOfAuthorities(old_only_);
  const std::string rotating = NameOfAuthorities(both_);
  const std::string finished = NameOfAuthorities(next_only_);
  const ClientIdentity before = Identity(old_, old_only_);
  EXPECT_FALSE(IsOutdated(before, steady));
  EXPECT_TRUE(IsOutdated(before, rotating));
  // An answer that was given again during the rotation: the list is new, and the certificate is
  // not.
  EXPECT_TRUE(IsOutdated(Identity(old_, both_), rotating));
  const ClientIdentity during = Identity(next_, both_);
  EXPECT_FALSE(IsOutdated(during, rotating));
  // The old authority is dropped at the end.
  EXPECT_TRUE(IsOutdated(during, finished));
  EXPECT_FALSE(IsOutdated(Identity(next_, next_only_), finished));
  // A coordinator of an earlier version names nothing.
  EXPECT_FALSE(IsOutdated(before, ""));
}

TEST_F(RotationTest, BothAuthoritiesVerifyWhatTheyHaveIssued) {
  EXPECT_OK(CheckIdentity(Identity(old_, both_), "", kNow));
  EXPECT_OK(CheckIdentity(Identity(next_, both_), "", kNow));
  EXPECT_FALSE(CheckIdentity(Identity(old_, next_only_), "", kNow).ok());
  EXPECT_TRUE(IsOfFirst(Identity(next_, "").certificate, both_));
  EXPECT_FALSE(IsOfFirst(Identity(old_, "").certificate, both_));
  EXPECT_FALSE(IsOfFirst("", both_));
  EXPECT_TRUE(IsOfFormer(Identity(old_, "").certificate, both_));
  EXPECT_FALSE(IsOfFormer(Identity(next_, "").certificate, both_));
  EXPECT_FALSE(IsOfFormer(Identity(old_, "").certificate, next_only_));
  EXPECT_FALSE(IsOfFormer("", both_));
  EXPECT_FALSE(IsOfFormer(Identity(old_, "").certificate, ""));
}

TEST_F(RotationTest, AnExpiredCertificateKeepsItsIssuer) {
  const auto leaf =
      IssueClient(old_, key_.public_key(), {"c1", PrincipalKind::kUser, "ann", *MakeSerial()},
                  absl::UnixEpoch() + absl::Hours(2));
  ASSERT_OK(leaf);
  EXPECT_TRUE(IsIssuedBy(*leaf, old_.certificate));
  EXPECT_FALSE(IsIssuedBy(*leaf, next_.certificate));
}

TEST(ForeignServer, OnlyARefusedCertificateIsExplained) {
  const absl::Time now = absl::FromUnixSeconds(1'800'000'000);
  EXPECT_EQ(ExplainForeignServer("Connection refused", "the one at h:1", "run: accel login", now),
            "");
  EXPECT_THAT(ExplainForeignServer("Ssl handshake failed: SSL_ERROR_SSL: certificate verify failed",
                                   "the one at h:1", "run: accel login", now),
              AllOf(HasSubstr("of the one at h:1;"), HasSubstr("was rotated"),
                    HasSubstr("run: accel login"),
                    HasSubstr("its clock, which says 2027-01-15 08:00 UTC, or the one")));
}

}  // namespace
}  // namespace accel::security
