#include "security/renew_identity.h"

#include <stdlib.h>

#include <map>
#include <string>

#include "absl/time/clock.h"
#include "common/status_matchers.h"
#include "security/issue.h"
#include "security/signing_request.h"

namespace accel::security {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

class RenewIdentityTest : public ::testing::Test {
 protected:
  RenewIdentityTest() {
    folder_ = ::testing::TempDir() + "/renewalXXXXXX";
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    const IdentityFiles files = Files();
    const Certificate leaf = Issue(files.ReadOrMakeKey()->public_key(), "n", start_);
    EXPECT_OK(files.Write(leaf.ToPem(), cluster_.certificate.ToPem(), "10.0.0.1:7337"));
    old_ = *files.Read();
  }

  IdentityFiles Files() const { return IdentityFiles(folder_, "node"); }

  Certificate Issue(const PublicKey& key, const std::string& member, absl::Time now) const {
    return *IssueClient(cluster_, key, {"c1", PrincipalKind::kNode, member, *MakeSerial()}, now);
  }

  // Answers like a coordinator: the same to the same key.
  absl::StatusOr<RenewedCertificate> Answer(const std::string& csr) {
    const absl::StatusOr<PublicKey> key = CheckRequest(csr);
    if (!key.ok()) return key.status();
    auto [found, is_new] = answers_.try_emplace(key->ToDer());
    if (is_new) found->second = Issue(*key, member_, now_).ToPem();
    return RenewedCertificate{found->second, cluster_.certificate.ToPem()};
  }

  absl::StatusOr<ClientIdentity> Renew() {
    return RenewIdentity(Files(), old_, clock_,
                         [this](const std::string& csr) { return Answer(csr); });
  }

  // The files have the old identity.
  void ExpectUnchanged() const {
    const auto read = Files().Read();
    ASSERT_OK(read);
    EXPECT_EQ(read->certificate, old_.certificate);
    EXPECT_EQ(read->key, old_.key);
  }

  std::string folder_;
  const absl::Time start_ = absl::Now();
  const Authority cluster_ = *MakeAuthority("c1", start_);
  ClientIdentity old_;
  absl::Time now_ = start_ + absl::Hours(24 * 130);    // The coordinator's clock.
  absl::Time clock_ = start_ + absl::Hours(24 * 130);  // This machine's.
  std::string member_ = "n";
  std::map<std::string, std::string> answers_;  // Certificates by key.
};

TEST_F(RenewIdentityTest, GetsANewKeyAndStoresIt) {
  ASSERT_OK_AND_ASSIGN(const ClientIdentity renewed, Renew());
  EXPECT_NE(renewed.key, old_.key);
  EXPECT_OK(CheckIdentity(renewed, "", now_));
  ASSERT_OK_AND_ASSIGN(const ClientIdentity read, Files().Read());
  EXPECT_EQ(read.certificate, renewed.certificate);
  EXPECT_EQ(read.key, renewed.key);
}

TEST_F(RenewIdentityTest, ACertificateThatIsNotValidYetReplacesNoneThatWorks) {
  for (const absl::Duration behind : {24 * absl::Hours(1), 3 * 365 * 24 * absl::Hours(1)}) {
    clock_ = now_ - behind;
    EXPECT_THAT(Renew().status(),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("set the clock")));
    ExpectUnchanged();
  }
  // The clock was set. The coordinator repeats its answer.
  clock_ = now_;
  ASSERT_OK_AND_ASSIGN(const ClientIdentity renewed, Renew());
  EXPECT_OK(CheckIdentity(renewed, "", clock_));
  EXPECT_EQ(answers_.size(), 1u);
}

TEST_F(RenewIdentityTest, AClockThatIsAheadCostsNothing) {
  clock_ = now_ + 3 * 365 * 24 * absl::Hours(1);
  EXPECT_OK(Renew());
}

TEST_F(RenewIdentityTest, MembersAreCompared) {
  const PublicKey key = PrivateKey::Make()->public_key();
  const auto of = [&](const Principal& whom) {
    return IssueClient(cluster_, key, whom, start_)->ToPem();
  };
  const std::string one = of({"c1", PrincipalKind::kUser, "ann", *MakeSerial()});
  EXPECT_TRUE(AreOfSameMember(one, of({"c1", PrincipalKind::kUser, "ann", *MakeSerial()})));
  EXPECT_FALSE(AreOfSameMember(one, of({"c1", PrincipalKind::kUser, "bob", *MakeSerial()})));
  EXPECT_FALSE(AreOfSameMember(one, of({"c1", PrincipalKind::kNode, "ann", *MakeSerial()})));
  EXPECT_FALSE(AreOfSameMember(one, "garbage"));
}

TEST_F(RenewIdentityTest, ALostAnswerIsGivenAgain) {
  const auto lose = [this](const std::string& csr) -> absl::StatusOr<RenewedCertificate> {
    EXPECT_OK(Answer(csr));
    return absl::UnavailableError("the connection broke");
  };
  EXPECT_THAT(RenewIdentity(Files(), old_, now_, lose).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("broke")));
  ExpectUnchanged();
  EXPECT_OK(Renew());
  EXPECT_EQ(answers_.size(), 1u);
}

// The coordinator's clock was a year ahead when it issued the present certificate.
TEST_F(RenewIdentityTest, ANewAuthorityReplacesACertificateThatLivesLonger) {
  const Authority next = *MakeAuthority("c1", start_);
  const std::string both = next.certificate.ToPem() + cluster_.certificate.ToPem();
  now_ = start_ - absl::Hours(1);
  const auto ask = [&](const std::string& csr) -> absl::StatusOr<RenewedCertificate> {
    const Principal node = {"c1", PrincipalKind::kNode, "n", *MakeSerial()};
    return RenewedCertificate{IssueClient(next, *CheckRequest(csr), node, now_)->ToPem(), both};
  };
  ASSERT_OK_AND_ASSIGN(const ClientIdentity renewed, RenewIdentity(Files(), old_, start_, ask));
  EXPECT_TRUE(Continues(renewed, old_));
  EXPECT_FALSE(Continues(old_, renewed)) << "a former authority";
  // The next one is of the same authority, so it must live longer.
  EXPECT_THAT(RenewIdentity(Files(), renewed, start_, ask).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("not live longer")));
}

TEST_F(RenewIdentityTest, UnusableAnswersChangeNothing) {
  now_ = start_ - absl::Hours(1);
  EXPECT_THAT(Renew().status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("not live")));
  ExpectUnchanged();
  // The answer would be the same for the same key, so there is another one.
  now_ = start_ + absl::Hours(1);
  member_ = "m";
  EXPECT_THAT(Renew().status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("another")));
  ExpectUnchanged();
  EXPECT_EQ(answers_.size(), 2u);
  const auto garbage = [](const std::string&) -> absl::StatusOr<RenewedCertificate> {
    return RenewedCertificate{"garbage", "garbage"};
  };
  EXPECT_THAT(RenewIdentity(Files(), old_, clock_, garbage).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("unusable")));
  const auto other = [this](const std::string&) -> absl::StatusOr<RenewedCertificate> {
    const Certificate leaf = Issue(PrivateKey::Make()->public_key(), "n", now_);
    return RenewedCertificate{leaf.ToPem(), cluster_.certificate.ToPem()};
  };
  EXPECT_THAT(RenewIdentity(Files(), old_, clock_, other).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("another key")));
  ExpectUnchanged();
  member_ = "n";
  EXPECT_OK(Renew());
}

}  // namespace
}  // namespace accel::security
