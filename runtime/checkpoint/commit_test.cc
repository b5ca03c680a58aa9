#include "runtime/checkpoint/commit.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <iterator>
#include <stdexcept>

#include "runtime/checkpoint/checkpoint_test_folder.h"
#include "runtime/checkpoint/retention.h"
#include "runtime/testing/disk_faults.h"

namespace accel::runtime {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CommitTest : public CheckpointFolderTest {
 protected:
  // Runs `write` in a process that is killed in its nth operation on the disk, and returns true if
  // it finished before. renameat2() does not support the flags in `unknown`.
  bool survives(int nth, const std::function<void()>& write, unsigned unknown = 0) {
    const auto error = [&](const DiskOperation& operation) {
      return operation.flags & unknown ? EINVAL : 0;
    };
    const int status = in_child([&] {
      set_disk_faults({.under = parent_, .kill_at = nth, .error = error});
      write();
    });
    EXPECT_TRUE(WIFSIGNALED(status) || status == 0) << nth;
    return status == 0;
  }
};

TEST_F(CommitTest, IsFoundAsItWasWritten) {
  save(3, "three", {.num_processes = 2});
  const auto found = newest();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->folder, parent_ / "checkpoint_3");
  EXPECT_EQ(found->manifest.iteration, 3u);
  EXPECT_EQ(found->manifest.num_processes, 2);
  EXPECT_EQ(read(found->folder / "model.safetensors"), "threethree");
  EXPECT_EQ(found->manifest.files.size(), 3u);
  EXPECT_FALSE(fs::exists(parent_ / "checkpoint_3.partial"));
}

// After a crash while a new number is saved, the older checkpoint or the newer one is whole.
TEST_F(CommitTest, KilledAnywhereANewCheckpointIsWholeOrNotThere) {
  for (int nth = 1;; ++nth) {
    SetUp();
    save(1, "one");
    const bool survived = survives(nth, [&] {
      save(2, "two");
      delete_old_checkpoints(parent_ / "checkpoint_2", 1);
    });
    const auto found = newest();
    ASSERT_TRUE(found) << nth;
    EXPECT_THAT(skipped_, IsEmpty()) << nth;
    const bool committed = found->manifest.iteration == 2;
    EXPECT_EQ(content_of(found->manifest.iteration), committed ? "two" : "one") << nth;
    EXPECT_TRUE(committed || fs::exists(parent_ / "checkpoint_1")) << nth;
    // Files that the kill has left do not hinder the next save.
    save(2, "again");
    delete_old_checkpoints(parent_ / "checkpoint_2", 1);
    EXPECT_EQ(content_of(2), "again");
    EXPECT_EQ(std::distance(fs::directory_iterator(parent_), {}), 1) << nth;
    if (survived) {
      EXPECT_TRUE(committed);
      EXPECT_GE(nth, 20);
      break;
    }
  }
}

TEST_F(CommitTest, KilledAnywhereAReplacementIsTheOlderOrTheNewer) {
  for (const unsigned unknown : {0u, unsigned{RENAME_EXCHANGE}}) {
    for (int nth = 1;; ++nth) {
      SetUp();
      save(1, "old");
      const bool survived = survives(
          nth, [&] { save(1, "new"); }, unknown);
      const std::string content = content_of(1);
      EXPECT_THAT(content, AnyOf("old", "new"));
      save(1, "again");
      EXPECT_EQ(content_of(1), "again");
      EXPECT_EQ(std::distance(fs::directory_iterator(parent_), {}), 1) << nth;
      if (survived) {
        EXPECT_EQ(content, "new");
        EXPECT_GE(nth, 20);
        break;
      }
    }
  }
}

// rename() would replace an empty folder that another program creates meanwhile.
TEST_F(CommitTest, WithoutRenameNoReplaceAFolderThatAppearsIsKept) {
  const auto folder = parent_ / "checkpoint_1";
  set_disk_faults({.under = folder, .error = [&](const DiskOperation& operation) {
                     if (operation.name != "renameat2" || operation.flags == 0) return 0;
                     fs::create_directory(folder);
                     return EINVAL;
                   }});
  try {
    save(1, "one");
    ADD_FAILURE() << "the folder was replaced";
  } catch (const CheckpointError& error) {
    EXPECT_THAT(error.what(), HasSubstr("checkpoint_1: cannot be put in place: File exists"));
  }
  set_disk_faults({});
  EXPECT_TRUE(fs::is_empty(folder));
}

// Between the renames that stand for an exchange, the newest checkpoint is found by its other name.
TEST_F(CommitTest, KilledBetweenThreeRenamesTheOlderIsFound) {
  save(1, "one");
  save(2, "two");
  fs::rename(parent_ / "checkpoint_2", parent_ / "checkpoint_2.replaced");
  EXPECT_EQ(newest()->manifest.iteration, 2u);
  EXPECT_EQ(content_of(2), "two");
}

// Fails each operation on the disk in turn, as a full disk does.
TEST_F(CommitTest, AnyFailureLeavesTheOlderAndNamesTheFile) {
  for (int nth = 1;; ++nth) {
    SetUp();
    save(1, "old");
    std::atomic<int> operations{0};  // Several threads write files.
    std::string failed, reason;
    // A failure after the commit, to delete the older checkpoint, is logged.
    testing::internal::CaptureStderr();
    set_disk_faults({.under = parent_, .error = [&](const DiskOperation& operation) {
                       if (++operations != nth) return 0;
                       failed = operation.name;
                       return ENOSPC;
                     }});
    try {
      save(1, "new");
    } catch (const CheckpointError& error) {
      reason = error.what();
    }
    reason += testing::internal::GetCapturedStderr();
    set_disk_faults({});
    EXPECT_THAT(content_of(1), AnyOf("old", "new"));
    if (failed.empty()) break;
    EXPECT_THAT(reason, AllOf(HasSubstr("No space left on device"), HasSubstr(parent_.string())))
        << failed;
  }
}

TEST_F(CommitTest, OnlyCheckpointsAndEmptyFoldersAreReplaced) {
  save(1, "old");
  std::ofstream(parent_ / "checkpoint_1/notes.txt") << "mine";
  save(1, "new");
  EXPECT_EQ(read(parent_ / "checkpoint_1/notes.txt"), "mine");
  EXPECT_EQ(read(parent_ / "checkpoint_1/optimizer.bin"), "new");

  fs::create_directories(parent_ / "checkpoint_2");
  save(2, "into an empty folder");
  fs::create_directories(parent_ / "checkpoint_3");
  std::ofstream(parent_ / "checkpoint_3/train.py") << "precious";
  EXPECT_THROW(save(3, "x"), std::invalid_argument);
  EXPECT_EQ(read(parent_ / "checkpoint_3/train.py"), "precious");
}

}  // namespace
}  // namespace accel::runtime
