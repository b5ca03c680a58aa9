#include "security/client_identity.h"

#include <utility>

#include "common/status_matchers.h"
#include "security/issue.h"

namespace accel::security {
namespace {

using ::accel::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kCannot = absl::StatusCode::kFailedPrecondition;
constexpr char kRemedy[] = "run: accel login";

class ClientIdentityTest : public ::testing::Test {
 protected:
  ClientIdentityTest() {
    const auto authority = MakeAuthority("c1", now_);
    const auto key = PrivateKey::Make();
    const auto certificate = IssueClient(*authority, key->public_key(),
                                         {"c1", PrincipalKind::kUser, "ann", *MakeSerial()}, now_);
    EXPECT_OK(certificate);
    identity_ = {key->ToPem(), certificate->ToPem(), authority->certificate.ToPem()};
  }

  const absl::Time now_ = absl::FromUnixSeconds(1'800'000'000);
  ClientIdentity identity_;
};

TEST_F(ClientIdentityTest, AFreshOneIsFine) { EXPECT_OK(CheckIdentity(identity_, kRemedy, now_)); }

TEST_F(ClientIdentityTest, AnExpiredOneSaysSo) {
  EXPECT_THAT(CheckIdentity(identity_, kRemedy, now_ + kUserLife + absl::Hours(1)),
              StatusIs(kCannot, AllOf(HasSubstr("has expired at 2027-04-15"), HasSubstr(kRemedy))));
}

TEST_F(ClientIdentityTest, AClockBeforeItsStartIsNamed) {
  EXPECT_THAT(CheckIdentity(identity_, kRemedy, now_ - absl::Hours(24 * 365)),
              StatusIs(kCannot, AllOf(HasSubstr("this machine's clock says 2026-01-15"),
                                      HasSubstr("set the clock"))));
}

TEST_F(ClientIdentityTest, FilesOfTwoIdentitiesAreRefused) {
  const auto key = PrivateKey::Make();
  ClientIdentity mixed = identity_;
  mixed.key = key->ToPem();
  EXPECT_THAT(CheckIdentity(mixed, kRemedy, now_), StatusIs(kCannot, HasSubstr("another key")));
  const auto other = MakeAuthority("c1", now_);
  mixed = identity_;
  mixed.authorities = other->certificate.ToPem();
  EXPECT_THAT(CheckIdentity(mixed, kRemedy, now_), StatusIs(kCannot, HasSubstr(kRemedy)));
}

TEST_F(ClientIdentityTest, DamagedFilesAreNamed) {
  for (const auto& [part, name] :
       {std::pair(&ClientIdentity::key, "this client's key"),
        std::pair(&ClientIdentity::certificate, "this client's certificate"),
        std::pair(&ClientIdentity::authorities, "the cluster's certificate")}) {
    ClientIdentity damaged = identity_;
    damaged.*part = "garbage";
    EXPECT_THAT(
        CheckIdentity(damaged, kRemedy, now_),
        StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr(name), HasSubstr(kRemedy))));
  }
}

}  // namespace
}  // namespace accel::security
