#include "cli/coordinator_connection.h"

#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "common/status_matchers.h"
#include "security/identity_files.h"
#include "security/issue.h"

namespace accel::cli {
namespace {

using enum grpc::StatusCode;

// No call is sent. A test gives their results, and nobody answers a renewal.
class CoordinatorConnectionTest : public ::testing::Test {
 protected:
  CoordinatorConnectionTest() {
    clusters_ = ::testing::TempDir() + "/clustersXXXXXX";
    EXPECT_NE(mkdtemp(clusters_.data()), nullptr);
    std::filesystem::create_directory(clusters_ + "/c1");
    LogInAs("ann");
    connection_ = std::make_unique<CoordinatorConnection>(
        "127.0.0.1:1", Login{clusters_ + "/c1", *ReadLogin(clusters_ + "/c1")});
  }

  // Writes a login that is old enough to be renewed.
  void LogInAs(const std::string& user) {
    const security::IdentityFiles files(clusters_ + "/c1", "user");
    const auto leaf = security::IssueClient(
        cluster_, files.ReadOrMakeKey()->public_key(),
        {"c1", security::PrincipalKind::kUser, user, *security::MakeSerial()}, start_);
    ASSERT_OK(files.Write(leaf->ToPem(), cluster_.certificate.ToPem(), "127.0.0.1:1"));
  }

  // Makes a call, each attempt of which ends with this code. Returns the number of attempts.
  int Attempts(grpc::StatusCode code) {
    int attempts = 0;
    const absl::Status status = connection_->Call(
        absl::Seconds(1), CallEffect::kNone, [&](const CoordinatorStubs&, grpc::ClientContext*) {
          ++attempts;
          return grpc::Status(code, "the test's");
        });
    EXPECT_EQ(status.ok(), code == OK);
    return attempts;
  }

  // Ends the command. Returns true if it has tried to renew the login.
  bool RenewsAtItsEnd() {
    connection_.reset();
    return std::filesystem::exists(clusters_ + "/.renewal-c1");
  }

  std::string clusters_;
  const absl::Time start_ = absl::Now() - absl::Hours(24 * 40);
  const security::Authority cluster_ = *security::MakeAuthority("c1", start_);
  std::unique_ptr<CoordinatorConnection> connection_;
};

TEST_F(CoordinatorConnectionTest, ARefusedCallIsRepeatedWithTheNewLogin) {
  EXPECT_EQ(Attempts(UNAUTHENTICATED), 1);
  LogInAs("ann");
  EXPECT_EQ(Attempts(UNAUTHENTICATED), 2);
  EXPECT_EQ(Attempts(UNAUTHENTICATED), 1);
}

TEST_F(CoordinatorConnectionTest, ACommandDoesNotGoOnAsAnotherUser) {
  LogInAs("bob");
  EXPECT_EQ(Attempts(UNAUTHENTICATED), 1);
  EXPECT_EQ(Attempts(UNAVAILABLE), 1);
}

TEST_F(CoordinatorConnectionTest, ALoginIsRenewedAfterACallThatSucceeded) {
  Attempts(OK);
  Attempts(NOT_FOUND);
  EXPECT_TRUE(RenewsAtItsEnd());
}

TEST_F(CoordinatorConnectionTest, NoLoginIsRenewedWithoutACall) { EXPECT_FALSE(RenewsAtItsEnd()); }

TEST_F(CoordinatorConnectionTest, ACoordinatorThatWasLostDelaysNoCommand) {
  Attempts(OK);
  Attempts(UNAVAILABLE);
  Attempts(NOT_FOUND);
  EXPECT_FALSE(RenewsAtItsEnd());
}

TEST_F(CoordinatorConnectionTest, ACoordinatorThatDoesNotAnswerDelaysNoCommand) {
  Attempts(OK);
  Attempts(DEADLINE_EXCEEDED);
  EXPECT_FALSE(RenewsAtItsEnd());
}

}  // namespace
}  // namespace accel::cli
