#include "agent/certificate_renewal.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <stdlib.h>

#include <memory>
#include <string>

#include "common/simulated_clock.h"
#include "common/status_matchers.h"
#include "security/issue.h"
#include "security/rotation.h"
#include "security/signing_request.h"

namespace accel::agent {
namespace {

constexpr absl::Duration kDay = absl::Hours(24);

// Channels are only compared here. They never connect.
std::shared_ptr<grpc::Channel> NewChannel() {
  return grpc::CreateChannel("unix:/nowhere", grpc::InsecureChannelCredentials());
}

class CertificateRenewalTest : public ::testing::Test {
 protected:
  CertificateRenewalTest() {
    folder_ = ::testing::TempDir() + "/renewalXXXXXX";
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    const security::IdentityFiles files(folder_, "node");
    const auto answer = Issue(files.ReadOrMakeKey()->public_key());
    EXPECT_OK(files.Write(answer.certificate, answer.authorities, "10.0.0.1:7337"));
    CertificateRenewal::Options options;
    options.state_dir = folder_;
    options.identity = *files.Read();
    options.channels = channels_;
    options.calls.renew = [this](const auto& channel, const std::string& csr) {
      return Answer(channel, csr);
    };
    options.calls.greet = [this](const auto& channel) -> absl::StatusOr<std::string> {
      if (channel == channels_->present() && is_connected_) ++questions_;
      if (channel == channels_->newest() && channel != channels_->present()) ++greetings_;
      if (!refusal_.ok()) return refusal_;
      return security::NameOfAuthorities(authorities_);
    };
    options.calls.is_connected = [this](const auto&) { return is_connected_; };
    options.calls.open = [](const auto&) { return NewChannel(); };
    options.clock = &clock_;
    options.wall = [this] { return wall_ + ahead_; };
    renewal_ = std::make_unique<CertificateRenewal>(options);
  }

  security::RenewedCertificate Issue(const security::PublicKey& key) const {
    const auto leaf = security::IssueClient(
        issuer_, key, {"c1", security::PrincipalKind::kNode, "n", *security::MakeSerial()}, wall_);
    EXPECT_OK(leaf);
    return {leaf->ToPem(), authorities_};
  }

  absl::StatusOr<security::RenewedCertificate> Answer(const std::shared_ptr<grpc::Channel>& channel,
                                                      const std::string& csr) {
    EXPECT_EQ(channel, channels_->present());
    ++requests_;
    if (!refusal_.ok()) return refusal_;
    return Issue(*security::CheckRequest(csr));
  }

  // Writes an identity to the files without the agent, as an attempt does that seemed to fail.
  void WriteAnother(const std::string& member) const {
    const security::IdentityFiles files(folder_, "node");
    const auto old = *files.Read();
    const security::PrivateKey key = *security::PrivateKey::Make();
    const auto leaf = security::IssueClient(
        cluster_, key.public_key(),
        {"c1", security::PrincipalKind::kNode, member, *security::MakeSerial()}, wall_);
    EXPECT_OK(files.Replace(old, {key.ToPem(), leaf->ToPem(), cluster_.certificate.ToPem()}));
  }

  std::string Stored() const {
    return security::IdentityFiles(folder_, "node").Read()->certificate;
  }

  // Lets time pass, in hours as on a machine that is on, and returns the requests during it.
  int Pass(absl::Duration time) {
    const int before = requests_;
    for (absl::Duration left = time; left > absl::ZeroDuration(); left -= absl::Hours(1)) {
      clock_.Advance(absl::Hours(1));
      wall_ += absl::Hours(1);
      renewal_->RunOnce();
    }
    return requests_ - before;
  }

  std::string folder_;
  absl::Time wall_ = absl::FromUnixSeconds(1'800'000'000);  // The coordinator's clock.
  absl::Duration ahead_;                                    // This machine's clock minus that.
  common::SimulatedClock clock_;
  const security::Authority cluster_ = *security::MakeAuthority("c1", wall_);
  const std::shared_ptr<SessionChannels> channels_ = std::make_shared<SessionChannels>(NewChannel);
  // What the coordinator issues with, and names.
  security::Authority issuer_ = cluster_;
  std::string authorities_ = cluster_.certificate.ToPem();
  bool is_connected_ = false;
  int questions_ = 0;
  int requests_ = 0;
  int greetings_ = 0;
  absl::Status refusal_;  // The answer to all calls.
  std::unique_ptr<CertificateRenewal> renewal_;
};

TEST_F(CertificateRenewalTest, ARenewedOneIsStoredAndOfferedToTheNextConnection) {
  const auto first = channels_->present();
  const std::string old = Stored();
  EXPECT_EQ(Pass(120 * kDay), 0);
  EXPECT_EQ(Pass(3 * kDay), 1);
  EXPECT_NE(Stored(), old);
  EXPECT_EQ(channels_->present(), first);
  EXPECT_NE(channels_->newest(), first);
  // The connection breaks once, so the next renewal is a third of a life later.
  channels_->Adopt();
  EXPECT_EQ(Pass(118 * kDay), 0);
  EXPECT_EQ(Pass(6 * kDay), 1);
  EXPECT_EQ(greetings_, 0);
}

TEST_F(CertificateRenewalTest, AConnectionThatNeverBreaksIsMovedBeforeItsCertificateEnds) {
  EXPECT_EQ(Pass(240 * kDay), 1);
  EXPECT_EQ(greetings_, 0);
  refusal_ = absl::UnavailableError("no route");
  Pass(4 * kDay);
  EXPECT_GT(greetings_, 1);  // It failed, and nothing has changed.
  EXPECT_NE(channels_->present(), channels_->newest());
  refusal_ = absl::OkStatus();
  greetings_ = 0;
  Pass(absl::Hours(2));
  EXPECT_GT(greetings_, 0);
}

TEST_F(CertificateRenewalTest, FailuresAreRepeatedAndChangeNothing) {
  const std::string old = Stored();
  refusal_ = absl::UnavailableError("no route");
  EXPECT_GT(Pass(130 * kDay), 100);
  EXPECT_EQ(Stored(), old);
  EXPECT_EQ(channels_->present(), channels_->newest());
  refusal_ = absl::OkStatus();
  EXPECT_EQ(Pass(absl::Hours(2)), 1);
  EXPECT_NE(Stored(), old);
}

TEST_F(CertificateRenewalTest, AnIdentityThatChangedInTheFilesIsTaken) {
  const auto first = channels_->present();
  Pass(100 * kDay);
  WriteAnother("n");
  const std::string other = Stored();
  EXPECT_EQ(Pass(30 * kDay), 1);
  EXPECT_EQ(Stored(), other);
  EXPECT_NE(channels_->newest(), first);
  // It is renewed in turn.
  channels_->Adopt();
  EXPECT_EQ(Pass(120 * kDay), 1);
  EXPECT_NE(Stored(), other);
}

TEST_F(CertificateRenewalTest, TheIdentityOfAnotherNodeIsNotTaken) {
  const auto first = channels_->present();
  WriteAnother("m");
  EXPECT_GT(Pass(130 * kDay), 2);
  EXPECT_EQ(channels_->newest(), first);
}

TEST_F(CertificateRenewalTest, ARotationIsFollowedWithinAMinute) {
  is_connected_ = true;
  const auto run = [&](int seconds) {
    for (int i = 0; i < seconds; i += 10) {
      clock_.Advance(absl::Seconds(10));
      wall_ += absl::Seconds(10);
      renewal_->RunOnce();
    }
  };
  run(600);
  EXPECT_EQ(questions_, 20);
  EXPECT_EQ(requests_, 0);
  issuer_ = *security::MakeAuthority("c1", wall_);
  const std::string rotating = issuer_.certificate.ToPem() + authorities_;
  authorities_ = rotating;
  // A connection that is lost says nothing.
  is_connected_ = false;
  run(60);
  EXPECT_EQ(requests_, 0);
  is_connected_ = true;
  run(60);
  EXPECT_EQ(requests_, 1);
  EXPECT_TRUE(security::IsOfFirst(Stored(), issuer_.certificate.ToPem()));
  EXPECT_GT(greetings_, 0);
  channels_->Adopt();
  greetings_ = 0;
  run(600);
  EXPECT_EQ(requests_, 1);
  EXPECT_EQ(greetings_, 0);
  // The rotation is finished. The connection is left as it is.
  authorities_ = issuer_.certificate.ToPem();
  run(60);
  EXPECT_EQ(requests_, 2);
  EXPECT_EQ(security::IdentityFiles(folder_, "node").Read()->authorities, authorities_);
  run(600);
  EXPECT_EQ(requests_, 2);
  EXPECT_EQ(greetings_, 0);
}

TEST_F(CertificateRenewalTest, AWrongClockCausesNoStormOfRenewals) {
  ahead_ = 300 * kDay;
  for (int i = 0; i < 3600; ++i) {
    clock_.Advance(absl::Seconds(1));
    wall_ += absl::Seconds(1);
    renewal_->RunOnce();
    channels_->Adopt();
  }
  EXPECT_EQ(requests_, 1);
}

}  // namespace
}  // namespace accel::agent
