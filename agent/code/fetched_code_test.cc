#include "agent/code/fetched_code.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "agent/code/fake_blob_source.h"
#include "common/status_matchers.h"
#include "security/sha256.h"
#include "upload/core/bad_trees.h"

namespace {

// Called at each sync of a file system.
std::function<void()>& OnSync() {
  static auto* const on_sync = new std::function<void()>([] {});
  return *on_sync;
}

}  // namespace

// Stands in for the C library's, because no test can cut the power.
extern "C" int syncfs(int) noexcept {
  OnSync()();
  return 0;
}

namespace accel::agent {
namespace {

namespace fs = std::filesystem;
using ::accel::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string HashOf(const std::string& text) {
  return absl::BytesToHexString(security::Sha256(text));
}

class FetchedCodeTest : public ::testing::Test {
 protected:
  FetchedCodeTest() {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    chmod(folder_.c_str(), 0711);
    fs::create_directories(jobs_dir());
    AddFile("data/words.txt", "a b c");
    AddFile("run.sh", "#!/bin/sh", true);
    tree_.push_back(upload::LinkEntry("vocab", "data/words.txt"));
    Open();
  }
  ~FetchedCodeTest() override {
    code_.reset();
    fs::remove_all(folder_);
  }

  std::string jobs_dir() const { return folder_ + "/jobs"; }
  std::string code_of(const std::string& job) const { return jobs_dir() + "/" + job + "/code"; }

  void Open() {
    code_.reset();
    auto cache = upload::BlobFolder::Open(folder_ + "/uploads");
    EXPECT_OK(cache);
    code_ = std::make_unique<FetchedCode>(jobs_dir(), *std::move(cache),
                                          std::make_unique<FakeSource>(&blobs_));
  }

  void AddFile(const std::string& path, const std::string& text, bool executable = false) {
    blobs_.blobs[HashOf(text)] = text;
    tree_.push_back({.path = path,
                     .executable = executable,
                     .size = static_cast<int64_t>(text.size()),
                     .sha256 = HashOf(text),
                     .link = ""});
  }

  CodeRequest Request(const std::string& job) {
    const std::string manifest = upload::ToManifest(tree_);
    blobs_.blobs[HashOf(manifest)] = manifest;
    return {.job = common::JobId(job), .tree = HashOf(manifest), .user = user_};
  }

  // Runs turns until there is an answer about the job.
  absl::StatusOr<std::string> Fetch(const std::string& job) {
    const CodeRequest request = Request(job);
    while (!code_->IsKnown(request.job)) {
      code_->Set({request});
      pollfd wake = {code_->wake_fd(), POLLIN, 0};
      EXPECT_EQ(poll(&wake, 1, 20'000), 1);
      code_->Update();
    }
    return code_->Find(request.job);
  }

  void RunAs(uid_t uid, gid_t gid) {
    user_ = process::Account{.name = "someone", .uid = uid, .gid = gid, .groups = {gid}};
  }

  std::string PathOf(const std::string& hash) const {
    return folder_ + "/uploads/" + hash.substr(0, 2) + "/" + hash;
  }
  // Changes a byte of this content in the cache.
  void Damage(const std::string& text) const {
    std::ofstream(PathOf(HashOf(text))) << std::string(text.size(), '?');
  }

  static std::string Text(const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  std::string folder_ = "/tmp/fetched_code.XXXXXX";
  FakeBlobs blobs_;
  upload::Tree tree_;
  std::optional<process::Account> user_;
  std::unique_ptr<FetchedCode> code_;
};

TEST_F(FetchedCodeTest, PlacesTheTree) {
  ASSERT_OK_AND_ASSIGN(const std::string folder, Fetch("j1"));
  EXPECT_EQ(folder, code_of("j1"));
  EXPECT_EQ(Text(folder + "/data/words.txt"), "a b c");
  EXPECT_EQ(Text(folder + "/vocab"), "a b c");
  struct stat info = {};
  ASSERT_EQ(stat((folder + "/run.sh").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0755u);
  EXPECT_EQ(info.st_nlink, 1u) << "a link would let the user change the cache";
  ASSERT_EQ(stat((folder + "/data/words.txt").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0644u);
  ASSERT_EQ(stat((jobs_dir() + "/j1").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
}

TEST_F(FetchedCodeTest, FetchesOnlyWhatHasChanged) {
  ASSERT_OK(Fetch("j1"));
  EXPECT_EQ(blobs_.asked.size(), 3u);
  blobs_.asked.clear();
  ASSERT_OK(Fetch("j2"));
  EXPECT_THAT(blobs_.asked, IsEmpty());
  tree_.erase(tree_.begin());
  tree_.insert(
      tree_.begin(),
      upload::TreeEntry{.path = "data/words.txt", .size = 1, .sha256 = HashOf("d"), .link = ""});
  blobs_.blobs[HashOf("d")] = "d";
  const std::string name = Request("j3").tree;
  ASSERT_OK(Fetch("j3"));
  EXPECT_THAT(blobs_.asked, ElementsAre(name, HashOf("d")));
  EXPECT_EQ(Text(code_of("j3") + "/vocab"), "d");
  EXPECT_EQ(Text(code_of("j2") + "/vocab"), "a b c");
}

TEST_F(FetchedCodeTest, TheNextGenerationFindsWhatTheWorkersHaveWritten) {
  ASSERT_OK(Fetch("j1"));
  std::ofstream(code_of("j1") + "/checkpoint") << "step 3";
  code_->Set({});
  EXPECT_FALSE(code_->IsKnown(common::JobId("j1")));
  code_->Update();
  ASSERT_OK(Fetch("j1"));
  EXPECT_EQ(Text(code_of("j1") + "/checkpoint"), "step 3");
}

TEST_F(FetchedCodeTest, TheFolderIsOnTheDiskBeforeItHasItsName) {
  int syncs = 0;
  OnSync() = [&] {
    ++syncs;
    EXPECT_EQ(Text(jobs_dir() + "/j1/code.new/vocab"), "a b c");
    EXPECT_FALSE(fs::exists(code_of("j1")));
  };
  EXPECT_OK(Fetch("j1"));
  OnSync() = [] {};
  EXPECT_EQ(syncs, 1);
}

TEST_F(FetchedCodeTest, WhatTheUserPutsInTheWayIsHisFault) {
  fs::create_directories(jobs_dir() + "/j1");
  std::ofstream(code_of("j1")) << "no folder";
  EXPECT_THAT(Fetch("j1"), StatusIs(absl::StatusCode::kInvalidArgument,
                                    HasSubstr("cannot name the folder code for the job's user")));
  EXPECT_EQ(Text(code_of("j1")), "no folder");
  EXPECT_FALSE(fs::exists(jobs_dir() + "/j1/code.new"));
  fs::create_directories(jobs_dir() + "/j2");
  std::ofstream(jobs_dir() + "/j2/code.new") << "no folder";
  EXPECT_THAT(Fetch("j2"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("code.new")));
}

TEST_F(FetchedCodeTest, WorkersMayReplaceTheFolderByALink) {
  fs::create_directories(jobs_dir() + "/j1/mine");
  fs::create_directory_symlink("mine", code_of("j1"));
  EXPECT_OK(Fetch("j1"));
  EXPECT_THAT(blobs_.asked, IsEmpty());
}

TEST_F(FetchedCodeTest, FilesBelongToTheUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files to others";
  RunAs(12345, 12346);
  ASSERT_OK_AND_ASSIGN(const std::string folder, Fetch("j1"));
  for (const auto& entry : fs::recursive_directory_iterator(jobs_dir() + "/j1")) {
    struct stat info = {};
    ASSERT_EQ(lstat(entry.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_uid, 12345u) << entry.path();
    EXPECT_EQ(info.st_gid, 12346u) << entry.path();
  }
  struct stat info = {};
  ASSERT_EQ(stat((folder_ + "/uploads").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  EXPECT_EQ(info.st_uid, 0u);
}

TEST_F(FetchedCodeTest, RootRemovesWhatIsDamagedFromItsCache) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files to others";
  RunAs(12345, 12346);
  ASSERT_OK(Fetch("j1"));
  Damage("a b c");
  EXPECT_THAT(Fetch("j2"), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("was damaged")));
  code_->Set({});
  code_->Update();
  EXPECT_OK(Fetch("j2"));
}

TEST_F(FetchedCodeTest, WhatIsLeftOfAnInterruptedFetchIsReplaced) {
  fs::create_directories(jobs_dir() + "/j1/code.new/data");
  std::ofstream(jobs_dir() + "/j1/code.new/data/words.txt") << "half";
  ASSERT_OK(Fetch("j1"));
  EXPECT_EQ(Text(code_of("j1") + "/vocab"), "a b c");
  EXPECT_FALSE(fs::exists(jobs_dir() + "/j1/code.new"));
}

TEST_F(FetchedCodeTest, FailuresAreTheNodesAndSayWhy) {
  const std::string name = Request("j1").tree;
  const auto fails = [this](const std::string& job, const std::string& why) {
    EXPECT_THAT(Fetch(job), StatusIs(absl::StatusCode::kUnavailable, HasSubstr(why)));
    code_->Set({});
    code_->Update();
    EXPECT_FALSE(fs::exists(code_of(job)));
    EXPECT_FALSE(fs::exists(jobs_dir() + "/" + job + "/code.new"));
  };
  blobs_.blobs[HashOf("a b c")] = "a b d";
  fails("j1", "has the hash");
  blobs_.blobs[HashOf("a b c")] = "a b";
  fails("j1", "other files than those");
  blobs_.blobs.erase(HashOf("a b c"));
  fails("j1", "there is no job j1");
  // What is damaged on this disk is fetched again.
  blobs_.blobs[HashOf("a b c")] = "a b c";
  ASSERT_OK(Fetch("j2"));
  Damage("a b c");
  fails("j1", "was damaged");
  EXPECT_OK(Fetch("j1"));
}

TEST_F(FetchedCodeTest, NoBadTreeIsPlaced) {
  for (const upload::BadTree& bad : upload::BadTrees()) {
    tree_ = bad.tree;
    EXPECT_THAT(Fetch("j1"), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("upload did not")))
        << bad.what;
    code_->Set({});
    code_->Update();
  }
  EXPECT_TRUE(fs::is_empty(jobs_dir()));
}

TEST_F(FetchedCodeTest, AFetchEndsWithItsJob) {
  blobs_.hangs = true;
  code_->Set({Request("j1")});
  blobs_.is_hanging.WaitForNotification();
  EXPECT_FALSE(code_->IsKnown(common::JobId("j1")));
  code_->Set({});
  pollfd wake = {code_->wake_fd(), POLLIN, 0};
  EXPECT_EQ(poll(&wake, 1, 20'000), 1) << "the fetch has ended";
  blobs_.hangs = false;
  code_->Update();
  EXPECT_OK(Fetch("j1"));
}

TEST_F(FetchedCodeTest, TheCacheHasABound) {
  ASSERT_OK(Fetch("j1"));
  ASSERT_OK_AND_ASSIGN(upload::BlobFolder folder, upload::BlobFolder::Open(folder_ + "/uploads"));
  folder.Touch(HashOf("a b c"), absl::Now() - absl::Hours(1));
  const BlobCache cache(folder, nullptr);
  const size_t before = folder.List().size();
  int64_t bytes = 0;
  for (const upload::BlobFile& blob : folder.List()) bytes += blob.size;
  cache.Shrink(bytes - 1);
  EXPECT_EQ(folder.List().size(), before - 1);
  EXPECT_FALSE(folder.Has(HashOf("a b c"), 5)) << "the one that was not used for the longest time";
  cache.Shrink(0);
  EXPECT_THAT(folder.List(), IsEmpty());
}

TEST_F(FetchedCodeTest, AFailedFetchMakesRoomToo) {
  ASSERT_OK(Fetch("j1"));
  ASSERT_OK_AND_ASSIGN(upload::BlobFolder folder, upload::BlobFolder::Open(folder_ + "/uploads"));
  folder.Touch(HashOf("a b c"), absl::Now() - absl::Hours(1));
  const std::string large = HashOf("large");
  fs::create_directories(fs::path(PathOf(large)).parent_path());
  std::ofstream(PathOf(large)).close();
  ASSERT_EQ(truncate(PathOf(large).c_str(), BlobCache::kMaxBytes), 0);  // It takes no blocks.
  folder.Touch(large, absl::Now() - absl::Minutes(1));
  AddFile("zz", "z");
  blobs_.blobs.erase(HashOf("z"));
  EXPECT_FALSE(Fetch("j2").ok());
  EXPECT_FALSE(folder.Has(large, BlobCache::kMaxBytes));
  EXPECT_TRUE(folder.Has(HashOf("a b c"), 5)) << "the job that failed has just used it";
}

}  // namespace
}  // namespace accel::agent
