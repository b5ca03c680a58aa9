#include "agent/code/sync_code.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "agent/code/fetched_code_fixture.h"

namespace accel::agent {
namespace {

namespace fs = std::filesystem;
using ::accel::testing::StatusIs;
using ::accel::upload::FailedSync;
using ::accel::upload::OnFileSync;
using ::accel::upload::OnSync;
using ::testing::HasSubstr;

class SyncCodeTest : public FetchedCodeTest {
 protected:
  // What the mark says, or an empty text if there is none.
  std::string Mark(const std::string& job) const {
    std::error_code none;
    return fs::read_symlink(code_of(job) + ".unsynced", none).string();
  }
  bool IsMarked(const std::string& job) const { return !Mark(job).empty(); }
  void AwaitMark(const std::string& job, const std::string& text) const {
    for (int i = 0; i < 20'000 && Mark(job) != text; ++i) absl::SleepFor(absl::Milliseconds(1));
    EXPECT_EQ(Mark(job), text);
  }
  void AwaitSync(const std::string& job) const { AwaitMark(job, ""); }

  // Closes the agent's part, because its thread calls the function.
  void CloseAndSync(std::function<int()> on_sync) {
    code_.reset();
    OnSync() = std::move(on_sync);
  }
};

TEST_F(SyncCodeTest, NoStartWaitsForTheDisk) {
  absl::Notification started;
  bool was_marked = false;
  CloseAndSync([&] {
    started.WaitForNotification();
    EXPECT_EQ(Text(code_of("j1") + "/vocab"), "a b c") << "it is synced when all of it is there";
    was_marked = IsMarked("j1");
    return 0;
  });
  Open();
  EXPECT_OK(Fetch("j1"));
  EXPECT_TRUE(IsMarked("j1"));
  started.Notify();
  AwaitSync("j1");
  code_.reset();
  EXPECT_TRUE(was_marked) << "until it is on the disk";
}

TEST_F(SyncCodeTest, AFolderThatIsPlacedAgainDuringASyncNeedsAnother) {
  absl::Notification syncs;
  absl::Notification placed_again;
  int calls = 0;
  bool was_marked = false;
  CloseAndSync([&] {
    if (++calls == 1) {
      syncs.Notify();
      placed_again.WaitForNotification();
    } else {
      was_marked = IsMarked("j1");
    }
    return 0;
  });
  Open();
  ASSERT_OK(Fetch("j1"));
  syncs.WaitForNotification();
  // A worker removes the folder, and the job's next generation starts.
  fs::remove_all(code_of("j1"));
  code_->Set({});
  ASSERT_OK(Fetch("j1"));
  EXPECT_EQ(Text(code_of("j1") + "/vocab"), "a b c");
  placed_again.Notify();
  AwaitSync("j1");
  code_.reset();
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(was_marked) << "the first sync did not have the new folder";
}

TEST_F(SyncCodeTest, TheMarkIsOnTheDiskBeforeTheFolderHasItsName) {
  int marks = 0;
  sync_pause_ = absl::InfiniteDuration();
  code_.reset();
  OnFileSync() = [&] { marks += IsMarked("j1") && !fs::exists(code_of("j1")); };
  Open();
  EXPECT_OK(Fetch("j1"));
  EXPECT_EQ(marks, 1);
}

TEST_F(SyncCodeTest, WhatMayNotBeOnTheDiskIsPlacedAgainAfterAReboot) {
  sync_pause_ = absl::InfiniteDuration();
  Open();
  ASSERT_OK(Fetch("j1"));
  std::ofstream(code_of("j1") + "/data/words.txt").close();  // Its bytes were never written.
  boot_ = "the next boot";
  sync_pause_ = absl::ZeroDuration();
  Open();
  ASSERT_TRUE(IsMarked("j1"));
  ASSERT_OK(Fetch("j1"));
  EXPECT_EQ(Text(code_of("j1") + "/vocab"), "a b c");
  AwaitSync("j1");
  // Now it is on the disk, and remains as the workers leave it.
  std::ofstream(code_of("j1") + "/checkpoint") << "step 3";
  boot_ = "a third boot";
  Open();
  ASSERT_OK(Fetch("j1"));
  EXPECT_EQ(Text(code_of("j1") + "/checkpoint"), "step 3");
}

// The kernel reports each error of the disk once, so the sync after one succeeds.
TEST_F(SyncCodeTest, AfterAnErrorOfTheDiskNoLaterSyncCounts) {
  CloseAndSync(FailedSync);
  Open();
  ASSERT_OK(Fetch("j1"));
  AwaitMark("j1", "this boot!");
  std::ofstream(code_of("j1") + "/checkpoint") << "step 3";
  CloseAndSync([] { return 0; });
  Open();
  ASSERT_OK(Fetch("j2"));
  AwaitSync("j2");
  EXPECT_TRUE(IsMarked("j1"));
  ASSERT_OK(Fetch("j1"));
  EXPECT_EQ(Text(code_of("j1") + "/checkpoint"), "step 3") << "it is the same boot";
  boot_ = "the next boot";
  Open();
  ASSERT_OK(Fetch("j1"));
  EXPECT_FALSE(fs::exists(code_of("j1") + "/checkpoint"));
}

TEST_F(SyncCodeTest, ALinkThatMayNotBeOnTheDiskIsReplacedAfterAReboot) {
  sync_pause_ = absl::InfiniteDuration();
  Open();
  ASSERT_OK(Fetch("j1"));
  fs::rename(code_of("j1"), jobs_dir() + "/j1/mine");
  fs::create_directory_symlink("mine", code_of("j1"));
  boot_ = "the next boot";
  Open();
  ASSERT_OK(Fetch("j1"));
  EXPECT_FALSE(fs::is_symlink(code_of("j1")));
  EXPECT_EQ(Text(code_of("j1") + "/vocab"), "a b c");
}

TEST_F(SyncCodeTest, TheNextAgentSyncsWhatTheOneBeforeHasPlaced) {
  sync_pause_ = absl::InfiniteDuration();
  Open();
  ASSERT_OK(Fetch("j1"));
  std::ofstream(code_of("j1") + "/checkpoint") << "step 3";
  code_.reset();
  EXPECT_TRUE(IsMarked("j1")) << "an agent that stops waits for no disk";
  sync_pause_ = absl::ZeroDuration();
  Open();
  AwaitSync("j1");
  ASSERT_OK(Fetch("j1"));
  EXPECT_EQ(Text(code_of("j1") + "/checkpoint"), "step 3") << "it is the same boot";
}

TEST_F(SyncCodeTest, AFolderThatIsOnlyMarkedIsNotTakenForPlaced) {
  fs::create_directories(jobs_dir() + "/j1");
  fs::create_symlink(boot_, jobs_dir() + "/j1/code.unsynced");
  Open();
  ASSERT_OK(Fetch("j2"));
  AwaitSync("j2");
  EXPECT_TRUE(IsMarked("j1")) << "an agent was killed before it had filled the folder";
  ASSERT_OK(Fetch("j1"));
  EXPECT_EQ(Text(code_of("j1") + "/vocab"), "a b c");
}

TEST_F(SyncCodeTest, NothingIsPlacedWithoutABootId) {
  boot_ = "";
  Open();
  EXPECT_THAT(Fetch("j1"), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("which boot")));
}

}  // namespace
}  // namespace accel::agent
