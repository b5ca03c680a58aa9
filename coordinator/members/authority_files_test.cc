#include "coordinator/members/authority_files.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "absl/time/clock.h"
#include "common/status_matchers.h"
#include "security/secret_file.h"

namespace accel::coordinator {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

class AuthorityFilesTest : public ::testing::Test {
 protected:
  AuthorityFilesTest() { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }

  ClusterAuthority Make() const {
    auto made = ReadOrMakeAuthority(folder_, "c1", absl::Now());
    EXPECT_OK(made);
    return *std::move(made);
  }
  ClusterAuthority Read() const {
    auto read = ReadAuthority(folder_);
    EXPECT_OK(read);
    return *std::move(read);
  }
  void Begin() const { EXPECT_OK(BeginRotation(folder_, Read(), absl::Now())); }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  bool Exists(const std::string& name) const { return access(Path(name).c_str(), F_OK) == 0; }
  mode_t ModeOf(const std::string& name) const {
    struct stat info = {};
    EXPECT_EQ(stat(Path(name).c_str(), &info), 0) << name;
    return info.st_mode & 0777;
  }

  std::string folder_ = ::testing::TempDir() + "/stateXXXXXX";
};

TEST_F(AuthorityFilesTest, AnAuthorityIsMadeOnceAndReadBack) {
  EXPECT_THAT(ReadAuthority(folder_).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no coordinator has run")));
  const ClusterAuthority made = Make();
  ASSERT_OK_AND_ASSIGN(const ClusterAuthority read,
                       ReadOrMakeAuthority(folder_, "another", absl::Now()));
  EXPECT_EQ(read.pin(), made.pin());
  EXPECT_EQ(read.cluster_id(), "c1");
  EXPECT_FALSE(read.is_rotating());
  EXPECT_EQ(ModeOf("ca.key"), 0600u);
  // Without its key, a cluster cannot admit anyone, and a new key would shut all members out.
  ASSERT_EQ(unlink(Path("ca.key").c_str()), 0);
  EXPECT_THAT(ReadOrMakeAuthority(folder_, "c1", absl::Now()).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("from a backup")));
}

TEST_F(AuthorityFilesTest, ARotationTrustsBothAndThenTheNewOne) {
  const ClusterAuthority first = Make();
  const std::string stamp = AuthorityStamp(folder_);
  Begin();
  EXPECT_NE(AuthorityStamp(folder_), stamp);
  EXPECT_EQ(ModeOf("ca.next"), 0600u);
  // A coordinator that starts again continues it.
  ASSERT_OK_AND_ASSIGN(const ClusterAuthority during,
                       ReadOrMakeAuthority(folder_, "another", absl::Now()));
  EXPECT_TRUE(during.is_rotating());
  EXPECT_EQ(during.cluster_id(), "c1");
  EXPECT_NE(during.pin(), first.pin());
  EXPECT_EQ(during.bundle(), during.present().certificate.ToPem() + first.bundle());
  const std::string middle = AuthorityStamp(folder_);
  ASSERT_OK(FinishRotation(folder_));
  EXPECT_NE(AuthorityStamp(folder_), middle);
  const ClusterAuthority after = Read();
  EXPECT_FALSE(after.is_rotating());
  EXPECT_EQ(after.pin(), during.pin());
  EXPECT_EQ(after.bundle(), during.present().certificate.ToPem());
  EXPECT_EQ(ModeOf("ca.crt"), 0600u);
  EXPECT_FALSE(Exists("ca.key"));
  EXPECT_FALSE(Exists("ca.next"));
}

TEST_F(AuthorityFilesTest, AnAuthorityIsRotatedMoreThanOnce) {
  Make();
  Begin();
  ASSERT_OK(FinishRotation(folder_));
  const ClusterAuthority second = Read();
  Begin();
  EXPECT_EQ(Read().bundle(), Read().present().certificate.ToPem() + second.bundle());
  ASSERT_OK(FinishRotation(folder_));
  EXPECT_NE(Read().pin(), second.pin());
  // Nothing is left to do, and nothing is done.
  const std::string stamp = AuthorityStamp(folder_);
  ASSERT_OK(FinishRotation(folder_));
  EXPECT_EQ(AuthorityStamp(folder_), stamp);
}

// A crash after the rename leaves the old key.
TEST_F(AuthorityFilesTest, AFinishThatWasInterruptedIsCompleted) {
  for (const bool by_start : {false, true}) {
    folder_ = ::testing::TempDir() + "/stateXXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    Make();
    Begin();
    const ClusterAuthority during = Read();
    std::filesystem::rename(Path("ca.next"), Path("ca.crt"));
    EXPECT_EQ(Read().pin(), during.pin());
    EXPECT_FALSE(Read().is_rotating());
    EXPECT_TRUE(Exists("ca.key"));
    if (by_start) {
      Make();
    } else {
      ASSERT_OK(FinishRotation(folder_));
    }
    EXPECT_FALSE(Exists("ca.key"));
    EXPECT_EQ(Read().pin(), during.pin());
  }
}

// A command that is killed while it writes leaves a draft with a key.
TEST_F(AuthorityFilesTest, DraftsAreDeletedByTheNextStep) {
  Make();
  ASSERT_OK(security::WriteSecretFile(Path("ca.next.0123"), "draft"));
  EXPECT_FALSE(Read().is_rotating());
  Begin();
  EXPECT_FALSE(Exists("ca.next.0123"));
  EXPECT_TRUE(Read().is_rotating());
  ASSERT_OK(security::WriteSecretFile(Path("ca.next.0123"), "draft"));
  ASSERT_OK(FinishRotation(folder_));
  EXPECT_FALSE(Exists("ca.next.0123"));
  EXPECT_FALSE(Read().is_rotating());
}

TEST_F(AuthorityFilesTest, DamagedFilesAreNamed) {
  Make();
  Begin();
  ASSERT_OK(security::WriteSecretFile(Path("ca.next"), "nothing"));
  EXPECT_THAT(ReadAuthority(folder_).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("ca.next")));
  ASSERT_EQ(unlink(Path("ca.next").c_str()), 0);
  EXPECT_FALSE(Read().is_rotating());
  Begin();
  ASSERT_EQ(unlink(Path("ca.crt").c_str()), 0);
  // The new authority alone would shut out those that trust the old one.
  EXPECT_THAT(ReadOrMakeAuthority(folder_, "c1", absl::Now()).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("ca.crt: it is missing")));
}

}  // namespace
}  // namespace accel::coordinator
