#include "agent/code/fetched_code.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/code/fetched_code_fixture.h"
#include "upload/core/bad_trees.h"

namespace accel::agent {
namespace {

namespace fs = std::filesystem;
using ::accel::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

TEST_F(FetchedCodeTest, ManyFilesAreCopiedByManyThreads) {
  for (int i = 0; i < 500; ++i) {
    const std::string name = std::to_string(i);
    AddFile(absl::StrCat("many/", 100 + i % 7, "/", name), name);
  }
  std::sort(tree_.begin(), tree_.end(),
            [](const upload::TreeEntry& a, const upload::TreeEntry& b) { return a.path < b.path; });
  ASSERT_OK(Fetch("j1"));
  for (const upload::TreeEntry& entry : tree_) {
    if (entry.is_link()) continue;
    EXPECT_EQ(HashOf(Text(code_of("j1") + "/" + entry.path)), entry.sha256);
  }
  Damage("499");
  EXPECT_THAT(Fetch("j2"), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("was damaged")));
  EXPECT_FALSE(fs::exists(jobs_dir() + "/j2/code.new"));
  code_->Set({});
  code_->Update();
  EXPECT_OK(Fetch("j2"));
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
  sync_pause_ = absl::InfiniteDuration();  // The mark remains, and is the user's too.
  Open();
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

TEST_F(FetchedCodeTest, ACoordinatorThatDiesIsAskedForTheRestWhenItIsBack) {
  const std::string tree = Request("j1").tree;
  blobs_.breaks = 2;  // The stream of the tree, and that of the files.
  ASSERT_OK(Fetch("j1"));
  EXPECT_EQ(Text(code_of("j1") + "/vocab"), "a b c");
  const std::string words = HashOf("a b c");
  const std::string script = HashOf("#!/bin/sh");
  EXPECT_THAT(blobs_.asked, ElementsAre(tree, words, script, script));
}

TEST_F(FetchedCodeTest, AFetchThatWaitsForTheCoordinatorEndsWithItsJob) {
  blobs_.refuses = true;
  code_->Set({Request("j1")});
  for (int i = 0; i < 20'000 && blobs_.refused < 3; ++i) absl::SleepFor(absl::Milliseconds(1));
  ASSERT_GE(blobs_.refused, 3);
  EXPECT_FALSE(code_->IsKnown(common::JobId("j1")));
  code_->Set({});
  pollfd wake = {code_->wake_fd(), POLLIN, 0};
  EXPECT_EQ(poll(&wake, 1, 20'000), 1) << "the fetch has ended";
  code_.reset();
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

}  // namespace
}  // namespace accel::agent
