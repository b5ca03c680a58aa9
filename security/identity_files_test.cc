#include "security/identity_files.h"

#include <stdlib.h>

#include <fstream>
#include <string>

#include "absl/time/clock.h"
#include "common/status_matchers.h"
#include "security/issue.h"

namespace accel::security {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

class IdentityFilesTest : public ::testing::Test {
 protected:
  IdentityFilesTest() {
    folder_ = ::testing::TempDir() + "/identityXXXXXX";
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
  }

  IdentityFiles Files() const { return IdentityFiles(folder_, "node"); }

  std::string folder_;
};

TEST_F(IdentityFilesTest, AKeyIsMadeOnce) {
  ASSERT_OK_AND_ASSIGN(const PrivateKey made, Files().ReadOrMakeKey());
  ASSERT_OK_AND_ASSIGN(const PrivateKey read, Files().ReadOrMakeKey());
  EXPECT_EQ(read.ToPem(), made.ToPem());
}

TEST_F(IdentityFilesTest, AnIdentityIsReadBack) {
  ASSERT_OK_AND_ASSIGN(const PrivateKey key, Files().ReadOrMakeKey());
  // A key alone is no identity.
  EXPECT_EQ(Files().Read().status().code(), absl::StatusCode::kNotFound);
  ASSERT_OK_AND_ASSIGN(const Authority cluster, MakeAuthority("c1", absl::Now()));
  ASSERT_OK_AND_ASSIGN(const Certificate leaf,
                       IssueClient(cluster, key.public_key(),
                                   {"c1", PrincipalKind::kNode, "n", *MakeSerial()}, absl::Now()));
  ASSERT_OK(Files().Write(leaf.ToPem(), cluster.certificate.ToPem(), "10.0.0.1:7337"));
  ASSERT_OK_AND_ASSIGN(const ClientIdentity identity, Files().Read());
  EXPECT_OK(CheckIdentity(identity, "", absl::Now()));
  ASSERT_OK_AND_ASSIGN(const std::string coordinator, Files().ReadCoordinator());
  EXPECT_EQ(coordinator, "10.0.0.1:7337");
}

TEST_F(IdentityFilesTest, ADamagedKeyIsNamed) {
  ASSERT_OK(Files().ReadOrMakeKey());
  std::ofstream(folder_ + "/node.key") << "garbage";
  EXPECT_THAT(Files().ReadOrMakeKey().status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("node.key")));
}

}  // namespace
}  // namespace accel::security
