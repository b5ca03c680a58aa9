#include "security/identity_files.h"

#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

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

  // Makes an identity of a node with this key.
  ClientIdentity Issue(const PrivateKey& key) const {
    const auto leaf = IssueClient(cluster_, key.public_key(),
                                  {"c1", PrincipalKind::kNode, "n", *MakeSerial()}, absl::Now());
    EXPECT_OK(leaf);
    return {key.ToPem(), leaf->ToPem(), cluster_.certificate.ToPem()};
  }

  // Stores a first identity and returns it.
  ClientIdentity Enrol() const {
    const ClientIdentity first = Issue(*Files().ReadOrMakeKey());
    EXPECT_OK(Files().Write(first.certificate, first.authorities, "10.0.0.1:7337"));
    return first;
  }

  std::string folder_;
  const Authority cluster_ = *MakeAuthority("c1", absl::Now());
};

bool operator==(const ClientIdentity& one, const ClientIdentity& other) {
  return one.key == other.key && one.certificate == other.certificate &&
         one.authorities == other.authorities;
}

TEST_F(IdentityFilesTest, AKeyIsMadeOnce) {
  ASSERT_OK_AND_ASSIGN(const PrivateKey made, Files().ReadOrMakeKey());
  ASSERT_OK_AND_ASSIGN(const PrivateKey read, Files().ReadOrMakeKey());
  EXPECT_EQ(read.ToPem(), made.ToPem());
}

TEST_F(IdentityFilesTest, AnIdentityIsReadBack) {
  ASSERT_OK(Files().ReadOrMakeKey());
  // A key alone is no identity.
  EXPECT_EQ(Files().Read().status().code(), absl::StatusCode::kNotFound);
  Enrol();
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

TEST_F(IdentityFilesTest, ARenewedIdentityReplacesTheOldOne) {
  const ClientIdentity first = Enrol();
  ASSERT_OK_AND_ASSIGN(const PrivateKey next, Files().ReadOrMakeNextKey(first));
  EXPECT_NE(next.ToPem(), first.key);
  const ClientIdentity renewed = Issue(next);
  ASSERT_OK(Files().Replace(first, renewed));
  ASSERT_OK_AND_ASSIGN(const ClientIdentity read, Files().Read());
  EXPECT_TRUE(read == renewed);
  EXPECT_OK(CheckIdentity(read, "", absl::Now()));
  // Programs that read the key's own file find it there.
  ASSERT_OK_AND_ASSIGN(const PrivateKey own, Files().ReadOrMakeKey());
  EXPECT_EQ(own.ToPem(), renewed.key);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/node.next.key"));
  // Joining again writes a pair that belongs together too.
  Enrol();
  ASSERT_OK_AND_ASSIGN(const ClientIdentity again, Files().Read());
  EXPECT_OK(CheckIdentity(again, "", absl::Now()));
}

TEST_F(IdentityFilesTest, TheKeyOfARenewalIsKeptUntilItIsUsed) {
  const ClientIdentity first = Enrol();
  ASSERT_OK_AND_ASSIGN(const PrivateKey next, Files().ReadOrMakeNextKey(first));
  ASSERT_OK_AND_ASSIGN(const PrivateKey again, Files().ReadOrMakeNextKey(first));
  EXPECT_EQ(again.ToPem(), next.ToPem());
  Files().DropNextKey();
  ASSERT_OK_AND_ASSIGN(const PrivateKey other, Files().ReadOrMakeNextKey(first));
  EXPECT_NE(other.ToPem(), next.ToPem());
  // A damaged one has no value.
  std::ofstream(folder_ + "/node.next.key") << "garbage";
  EXPECT_OK(Files().ReadOrMakeNextKey(first));
}

TEST_F(IdentityFilesTest, ACrashBeforeTheLastStepLeavesTheNewIdentity) {
  const ClientIdentity first = Enrol();
  ASSERT_OK_AND_ASSIGN(const PrivateKey next, Files().ReadOrMakeNextKey(first));
  const ClientIdentity renewed = Issue(next);
  ASSERT_OK(Files().Replace(first, renewed));
  // As if the process had ended before it moved the key.
  std::filesystem::rename(folder_ + "/node.key", folder_ + "/node.next.key");
  std::ofstream(folder_ + "/node.key") << first.key;
  std::filesystem::permissions(folder_ + "/node.key", std::filesystem::perms(0600));
  ASSERT_OK_AND_ASSIGN(const ClientIdentity read, Files().Read());
  EXPECT_TRUE(read == renewed);
  ASSERT_OK_AND_ASSIGN(const PrivateKey fresh, Files().ReadOrMakeNextKey(read));
  EXPECT_NE(fresh.ToPem(), renewed.key);
}

TEST_F(IdentityFilesTest, AFasterLoginIsNotReplaced) {
  const ClientIdentity first = Enrol();
  const ClientIdentity faster = Enrol();
  ASSERT_OK_AND_ASSIGN(const PrivateKey next, Files().ReadOrMakeNextKey(first));
  ClientIdentity late = Issue(next);
  late.authorities = "those of another cluster";
  EXPECT_THAT(Files().Replace(first, late),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("replaced meanwhile")));
  ASSERT_OK_AND_ASSIGN(const ClientIdentity read, Files().Read());
  EXPECT_TRUE(read == faster);
}

TEST_F(IdentityFilesTest, AFirstRenewalGivesNoReaderAMixture) {
  const std::string begin = "-----BEGIN PRIVATE KEY-----";
  // Without fsync, so that the files change as often as they are read.
  const auto put = [&](const std::string& name, const std::string& content) {
    const std::string draft = folder_ + "/draft";
    std::ofstream(draft) << content;
    std::filesystem::permissions(draft, std::filesystem::perms(0600));
    std::filesystem::rename(draft, folder_ + "/" + name);
  };
  put("ca.crt", "authorities");
  put("node.key", begin + "0");
  put("node.crt", "0");
  std::atomic<bool> stop{false};
  std::atomic<int> reads{0};
  std::thread reader([&] {
    while (!stop || reads == 0) {
      const auto read = Files().Read();
      // A reader gives up after ten changes in a row, which are likely here on a busy machine.
      if (absl::IsAborted(read.status())) continue;
      ASSERT_OK(read);
      ASSERT_EQ(read->key, begin + read->certificate);
      ++reads;
    }
  });
  for (int i = 1; i <= 500; ++i) {
    const std::string number = std::to_string(i);
    // A first renewal, and then an enrolment of the same key.
    put("node.crt", number + begin + number);
    put("node.key", begin + number);
    put("node.crt", number);
  }
  stop = true;
  reader.join();
}

TEST_F(IdentityFilesTest, AReaderNeverGetsAMixture) {
  ClientIdentity present = Enrol();
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop) {
      const auto read = Files().Read();
      ASSERT_OK(read);
      ASSERT_OK(CheckIdentity(*read, "", absl::Now()));
    }
  });
  for (int i = 0; i < 50; ++i) {
    const auto next = Files().ReadOrMakeNextKey(present);
    const ClientIdentity renewed = Issue(*next);
    EXPECT_OK(Files().Replace(present, renewed));
    present = renewed;
  }
  stop = true;
  reader.join();
}

}  // namespace
}  // namespace accel::security
