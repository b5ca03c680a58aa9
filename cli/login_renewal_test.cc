#include "cli/login_renewal.h"

#include <stdlib.h>
#include <sys/file.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "common/status_matchers.h"
#include "security/identity_files.h"
#include "security/issue.h"
#include "security/rotation.h"
#include "security/signing_request.h"

namespace accel::cli {
namespace {

using ::accel::testing::StatusIs;

constexpr absl::Duration kDay = absl::Hours(24);

class LoginRenewalTest : public ::testing::Test {
 protected:
  LoginRenewalTest() {
    std::string clusters = ::testing::TempDir() + "/clustersXXXXXX";
    EXPECT_NE(mkdtemp(clusters.data()), nullptr);
    folder_ = clusters + "/c1";
    std::filesystem::create_directory(folder_);
    const security::RenewedCertificate first = Issue(Files().ReadOrMakeKey()->public_key(), start_);
    EXPECT_OK(Files().Write(first.certificate, first.authorities, "10.0.0.1:7337"));
  }

  security::IdentityFiles Files() const { return security::IdentityFiles(folder_, "user"); }
  Login Present() const { return {folder_, *Files().Read()}; }

  security::RenewedCertificate Issue(const security::PublicKey& key, absl::Time wall) const {
    const auto leaf = security::IssueClient(
        issuer_, key, {"c1", security::PrincipalKind::kUser, "ann", *security::MakeSerial()}, wall);
    EXPECT_OK(leaf);
    return {leaf->ToPem(), authorities_};
  }

  // Runs a command that has read `login` at its start.
  absl::Status Renew(const Login& login, absl::Time wall) {
    return RenewLogin(login, wall, named_,
                      [&](const std::string& csr) -> absl::StatusOr<security::RenewedCertificate> {
                        ++requests_;
                        if (!refusal_.ok()) return refusal_;
                        return Issue(*security::CheckRequest(csr), wall);
                      });
  }

  std::string folder_;
  const absl::Time start_ = absl::FromUnixSeconds(1'800'000'000);
  const security::Authority cluster_ = *security::MakeAuthority("c1", start_);
  security::Authority issuer_ = cluster_;
  std::string authorities_ = cluster_.certificate.ToPem();
  std::string named_;  // What the coordinator has named at the end of a call.
  std::atomic<int> requests_{0};
  absl::Status refusal_;
};

TEST_F(LoginRenewalTest, ALoginIsRenewedAfterAThirdOfItsLife) {
  const Login old = Present();
  EXPECT_OK(Renew(old, start_ + 29 * kDay));
  EXPECT_EQ(requests_, 0);
  EXPECT_OK(Renew(old, start_ + 31 * kDay));
  EXPECT_EQ(requests_, 1);
  const Login renewed = Present();
  EXPECT_NE(renewed.identity.certificate, old.identity.certificate);
  EXPECT_OK(security::CheckIdentity(renewed.identity, "", start_ + 120 * kDay));
  EXPECT_OK(Renew(renewed, start_ + 60 * kDay));
  EXPECT_OK(Renew(renewed, start_ + 62 * kDay));
  EXPECT_EQ(requests_, 2);
}

TEST_F(LoginRenewalTest, FailuresAreRepeatedAfterAnHour) {
  refusal_ = absl::UnavailableError("no route");
  const Login old = Present();
  absl::Time wall = start_ + 40 * kDay;
  EXPECT_THAT(Renew(old, wall),
              StatusIs(absl::StatusCode::kUnavailable, ::testing::HasSubstr("no route")));
  // Many commands in the hour after it cost nothing.
  for (int i = 0; i < 59; ++i) EXPECT_OK(Renew(old, wall += absl::Minutes(1)));
  EXPECT_EQ(requests_, 1);
  refusal_ = absl::OkStatus();
  EXPECT_OK(Renew(old, wall += absl::Minutes(1)));
  EXPECT_EQ(requests_, 2);
  EXPECT_NE(Present().identity.certificate, old.identity.certificate);
}

TEST_F(LoginRenewalTest, ARotationIsFollowedByTheNextCommand) {
  named_ = security::NameOfAuthorities(authorities_);
  absl::Time wall = start_ + absl::Hours(3);
  EXPECT_OK(Renew(Present(), wall));
  EXPECT_EQ(requests_, 0);
  issuer_ = *security::MakeAuthority("c1", start_);
  authorities_ = issuer_.certificate.ToPem() + authorities_;
  named_ = security::NameOfAuthorities(authorities_);
  refusal_ = absl::UnavailableError("no route");
  EXPECT_FALSE(Renew(Present(), wall).ok());
  refusal_ = absl::OkStatus();
  EXPECT_OK(Renew(Present(), wall += absl::Seconds(59)));
  EXPECT_EQ(requests_, 1);
  EXPECT_OK(Renew(Present(), wall += absl::Seconds(1)));
  EXPECT_EQ(requests_, 2);
  EXPECT_TRUE(security::IsOfFirst(Present().identity.certificate, issuer_.certificate.ToPem()));
  EXPECT_OK(Renew(Present(), wall += absl::Hours(2)));
  EXPECT_EQ(requests_, 2);
  // The rotation is finished.
  authorities_ = issuer_.certificate.ToPem();
  named_ = security::NameOfAuthorities(authorities_);
  EXPECT_OK(Renew(Present(), wall));
  EXPECT_EQ(requests_, 3);
  EXPECT_EQ(Present().identity.authorities, authorities_);
}

TEST_F(LoginRenewalTest, CommandsAtTheSameTimeRenewOnce) {
  for (int round = 1; round <= 5; ++round) {
    const Login old = Present();
    const absl::Time wall = start_ + 40 * round * kDay;
    std::vector<std::thread> commands;
    for (int i = 0; i < 8; ++i) {
      commands.emplace_back([&] { EXPECT_OK(Renew(old, wall)); });
    }
    for (std::thread& each : commands) each.join();
    EXPECT_EQ(requests_, round);
    EXPECT_OK(security::CheckIdentity(Present().identity, "", wall));
    EXPECT_NE(Present().identity.certificate, old.identity.certificate);
  }
}

TEST_F(LoginRenewalTest, ANewLoginIsNotReplaced) {
  const Login old = Present();
  const security::RenewedCertificate other =
      Issue(Files().ReadOrMakeKey()->public_key(), start_ + kDay);
  ASSERT_OK(Files().Write(other.certificate, other.authorities, "10.0.0.1:7337"));
  EXPECT_OK(Renew(old, start_ + 40 * kDay));
  EXPECT_EQ(requests_, 0);
  EXPECT_EQ(Present().identity.certificate, other.certificate);
  // While a login writes, no command renews.
  {
    ASSERT_OK_AND_ASSIGN(const common::UniqueFd lock, LockLogin(folder_));
    EXPECT_OK(Renew(Present(), start_ + 40 * kDay));
    EXPECT_EQ(requests_, 0);
  }
  EXPECT_OK(Renew(Present(), start_ + 50 * kDay));
  EXPECT_EQ(requests_, 1);
}

}  // namespace
}  // namespace accel::cli
