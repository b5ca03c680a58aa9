#include "runtime/checkpoint/checkpoint_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <mutex>
#include <set>
#include <stdexcept>

#include "accel/errors.h"
#include "runtime/checkpoint/durable_file.h"
#include "runtime/core/checkpoint_layout.h"
#include "runtime/testing/disk_faults.h"

namespace accel {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;

class CheckpointFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(parent_);
    fs::create_directories(parent_);
  }

  // A checkpoint whose files all say `content`.
  void save(std::uint64_t iteration, const std::string& content, CheckpointWrite how = {}) {
    how.iteration = iteration;
    const fs::path folder = parent_ / checkpoint_name(iteration);
    std::ofstream(begin_checkpoint(folder) / "guest.txt") << content;
    const auto file = [&](std::string name, int times) {
      return CheckpointFile{.name = std::move(name), .write = [&content, times](const auto& sink) {
                              for (int i = 0; i < times; ++i) sink(content);
                            }};
    };
    write_checkpoint(folder, {file("model.safetensors", 2), file("optimizer.bin", 1)}, how);
  }

  static std::string read(const fs::path& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  std::optional<FoundCheckpoint> newest() {
    skipped_.clear();
    return newest_checkpoint(parent_, [&](const std::string& why) { skipped_.push_back(why); });
  }

  std::string error_of_newest() {
    try {
      newest();
    } catch (const CheckpointError& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

  // Whether a process that dies in its nth operation on the disk, none of which knows `unknown`
  // as a flag of renameat2(), got to the end of `write` before.
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

  // What is in checkpoint_N, all of whose files belong together.
  std::string content_of(std::uint64_t iteration) {
    const fs::path folder = parent_ / checkpoint_name(iteration);
    EXPECT_NO_THROW(verify_checkpoint(folder));
    const std::string content = read(folder / "optimizer.bin");
    EXPECT_EQ(read(folder / "model.safetensors"), content + content);
    EXPECT_EQ(read(folder / "guest.txt"), content);
    return content;
  }

  const fs::path parent_ = fs::path(testing::TempDir()) / "checkpoints";
  std::vector<std::string> skipped_;
};

TEST_F(CheckpointFolderTest, IsThereAsWritten) {
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

// What a crash leaves: with a new name the older checkpoint or the new one, never neither.
TEST_F(CheckpointFolderTest, KilledAnywhereInANewOne) {
  for (int nth = 1;; ++nth) {
    SetUp();
    save(1, "one");
    const bool survived = survives(nth, [&] {
      save(2, "two");
      remove_old_checkpoints(parent_ / "checkpoint_2", 1);
    });
    const auto found = newest();
    ASSERT_TRUE(found) << nth;
    EXPECT_THAT(skipped_, IsEmpty()) << nth;
    const bool committed = found->manifest.iteration == 2;
    EXPECT_EQ(content_of(found->manifest.iteration), committed ? "two" : "one") << nth;
    EXPECT_TRUE(committed || fs::exists(parent_ / "checkpoint_1")) << nth;
    // The next save is not in the way of what was left.
    save(2, "again");
    remove_old_checkpoints(parent_ / "checkpoint_2", 1);
    EXPECT_EQ(content_of(2), "again");
    EXPECT_EQ(std::distance(fs::directory_iterator(parent_), {}), 1) << nth;
    if (survived) {
      EXPECT_TRUE(committed);
      EXPECT_GE(nth, 20);
      break;
    }
  }
}

TEST_F(CheckpointFolderTest, KilledAnywhereInAReplacement) {
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

// Between the two renames that stand for an exchange, the newest is found by its other name.
TEST_F(CheckpointFolderTest, KilledInAReplacementOfTheNewest) {
  save(1, "one");
  save(2, "two");
  fs::rename(parent_ / "checkpoint_2", parent_ / "checkpoint_2.replaced");
  EXPECT_EQ(newest()->manifest.iteration, 2u);
  EXPECT_EQ(content_of(2), "two");
}

// A disk that is full, at any moment.
TEST_F(CheckpointFolderTest, AnyFailureLeavesTheOldOneAndSaysWhere) {
  for (int nth = 1;; ++nth) {
    SetUp();
    save(1, "old");
    std::atomic<int> operations{0};  // Files are written by several threads.
    std::string failed, reason;
    testing::internal::CaptureStderr();  // Once it is in place, what is left of the old one.
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

// The one that is too many is no reason to keep the others, nor to call the new one lost.
TEST_F(CheckpointFolderTest, WhatCannotBeRemovedIsNamedAndTheRestGoes) {
  for (const std::uint64_t i : {0, 1, 2}) save(i, "one of them");
  set_disk_faults(
      {.under = parent_ / "checkpoint_0", .error = [](const DiskOperation&) { return EACCES; }});
  testing::internal::CaptureStderr();
  EXPECT_NO_THROW(remove_old_checkpoints(parent_ / "checkpoint_2", 1));
  set_disk_faults({});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, AllOf(HasSubstr("an old checkpoint stays"), HasSubstr("checkpoint_0"),
                          HasSubstr("Permission denied")));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
  EXPECT_TRUE(fs::exists(parent_ / "checkpoint_0"));
  EXPECT_FALSE(fs::exists(parent_ / "checkpoint_1"));
  EXPECT_EQ(content_of(2), "one of them");
}

// As Accelerate's in Python, whose folders have the same names.
TEST_F(CheckpointFolderTest, FoldersWithoutAManifestAreNoCheckpointsAndStay) {
  for (const std::uint64_t i : {0, 1}) save(i, "with a manifest");
  for (const char* name : {"checkpoint_2", "checkpoint_9"}) {
    fs::create_directories(parent_ / name);
    std::ofstream(parent_ / name / "model.safetensors") << "precious";
  }
  EXPECT_EQ(newest()->manifest.iteration, 1u);
  fs::create_directories(parent_ / "notes.replaced");
  save(10, "the last");
  remove_old_checkpoints(parent_ / "checkpoint_10", 2);
  EXPECT_FALSE(fs::exists(parent_ / "checkpoint_0"));
  EXPECT_EQ(content_of(1), "with a manifest");
  for (const char* name : {"checkpoint_2", "checkpoint_9"}) {
    EXPECT_EQ(read(parent_ / name / "model.safetensors"), "precious");
  }
  for (const std::uint64_t i : {1, 10}) fs::remove_all(parent_ / checkpoint_name(i));
  EXPECT_FALSE(newest());
  EXPECT_TRUE(fs::exists(parent_ / "notes.replaced"));
}

TEST_F(CheckpointFolderTest, TornOnesAreTheFirstToGo) {
  for (const std::uint64_t i : {0, 1, 2}) save(i, "one of them");
  fs::resize_file(parent_ / "checkpoint_1/optimizer.bin", 1);
  remove_old_checkpoints(parent_ / "checkpoint_2", 2);
  EXPECT_EQ(content_of(0), "one of them");
  EXPECT_FALSE(fs::exists(parent_ / "checkpoint_1"));
}

TEST_F(CheckpointFolderTest, WhatCannotBeReadIsNotPassedOver) {
  save(1, "one");
  save(2, "two");
  for (const char* name : {"optimizer.bin", "manifest.json", ""}) {
    const fs::path file = fs::path(parent_ / "checkpoint_2") / name;
    fs::rename(parent_ / "checkpoint_2", parent_ / "good");
    fs::copy(parent_ / "good", parent_ / "checkpoint_2", fs::copy_options::recursive);
    const fs::path broken = *name == '\0' ? parent_ / "checkpoint_2" : file;
    fs::remove_all(broken);
    fs::create_symlink(broken, broken);  // ELOOP: an error of the system like another.
    EXPECT_THAT(error_of_newest(), HasSubstr("Too many levels of symbolic links")) << name;
    EXPECT_THAT(skipped_, IsEmpty()) << name;
    fs::remove_all(parent_ / "checkpoint_2");
    fs::rename(parent_ / "good", parent_ / "checkpoint_2");
  }
  EXPECT_EQ(newest()->manifest.iteration, 2u);
}

TEST_F(CheckpointFolderTest, IfAllAreDamagedTheyAreNamedAndNoneIsTakenForNothing) {
  save(1, "one");
  save(2, "two");
  fs::resize_file(parent_ / "checkpoint_1/optimizer.bin", 1);
  std::ofstream(parent_ / "checkpoint_2/manifest.json") << "{";
  EXPECT_THAT(error_of_newest(), AllOf(HasSubstr("damaged (checkpoint_2, checkpoint_1)"),
                                       HasSubstr("move them away to start anew")));
  EXPECT_THAT(skipped_, SizeIs(2));
}

TEST_F(CheckpointFolderTest, DamageIsNamedAndTheLastGoodOneTaken) {
  const struct {
    const char* file;
    std::function<void(const fs::path&)> damage;
    const char* reason;
  } cases[] = {
      {"optimizer.bin", [](const fs::path& f) { fs::resize_file(f, 1); }, "torn: it has 1 bytes"},
      {"optimizer.bin", [](const fs::path& f) { std::ofstream(f) << "twO"; }, "corrupt"},
      {"model.safetensors", [](const fs::path& f) { fs::remove(f); }, "cannot open"},
      {"manifest.json", [](const fs::path& f) { fs::resize_file(f, 20); }, "torn"},
      {"manifest.json", [](const fs::path& f) { std::ofstream(f, std::ios::app) << "x"; }, "torn"},
  };
  for (const auto& [file, damage, reason] : cases) {
    SetUp();
    save(1, "one");
    save(2, "two");
    damage(parent_ / "checkpoint_2" / file);
    const auto found = newest();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->manifest.iteration, 1u);
    ASSERT_THAT(skipped_, SizeIs(1));
    EXPECT_THAT(skipped_[0], HasSubstr(file));
    EXPECT_THAT(skipped_[0], HasSubstr(reason));
    EXPECT_THROW(verify_checkpoint(parent_ / "checkpoint_2"), CheckpointError);
  }
}

TEST_F(CheckpointFolderTest, OnlyCheckpointsAreReplacedAndForeignFilesStay) {
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

// The commit takes the older folder's place: what it holds of others must be on the disk by then.
TEST_F(CheckpointFolderTest, ForeignFoldersAreSyncedBeforeTheCommit) {
  save(1, "old");
  fs::create_directories(parent_ / "checkpoint_1/logs/deep");
  std::ofstream(parent_ / "checkpoint_1/logs/deep/loss.txt") << "0.5";
  std::mutex mutex;
  std::set<std::string> synced, before_commit;
  set_disk_faults({.under = parent_, .error = [&](const DiskOperation& operation) {
                     const std::lock_guard lock(mutex);
                     if (operation.name == "fsync") synced.insert(operation.path);
                     if (operation.name == "renameat2") before_commit = synced;
                     return 0;
                   }});
  save(1, "new");
  set_disk_faults({});
  EXPECT_THAT(before_commit, IsSupersetOf({(parent_ / "checkpoint_1.partial/logs").string(),
                                           (parent_ / "checkpoint_1.partial/logs/deep").string()}));
  EXPECT_EQ(read(parent_ / "checkpoint_1/logs/deep/loss.txt"), "0.5");
}

TEST_F(CheckpointFolderTest, OfGuestsFoldersAreKept) {
  const fs::path folder = parent_ / "checkpoint_1";
  const fs::path partial = begin_checkpoint(folder);
  fs::create_directories(partial / "logs/deep");
  std::ofstream(partial / "logs/deep/loss.txt") << "0.5";
  write_checkpoint(folder, {}, {});
  EXPECT_EQ(verify_checkpoint(folder).files.count("logs/deep/loss.txt"), 1u);
  std::ofstream(folder / "logs/deep/loss.txt") << "0.6";
  EXPECT_THROW(verify_checkpoint(folder), CheckpointError);

  fs::create_symlink("/dev/null", begin_checkpoint(folder) / "link");
  EXPECT_THROW(write_checkpoint(folder, {}, {}), CheckpointError);
}

TEST_F(CheckpointFolderTest, AGuestWithTheNameOfAnotherFileIsRefusedBeforeAnythingIsWritten) {
  save(1, "old");
  for (const char* name : {"manifest.json", "optimizer.bin"}) {
    const fs::path partial = begin_checkpoint(parent_ / "checkpoint_1");
    std::ofstream(partial / name) << "a guest's";
    const CheckpointFile first{.name = "model.safetensors", .write = [](const ByteSink&) {}};
    const CheckpointFile second{.name = "optimizer.bin", .write = [](const ByteSink&) {}};
    try {
      write_checkpoint(parent_ / "checkpoint_1", {first, second}, {});
      ADD_FAILURE() << name;
    } catch (const CheckpointError& error) {
      EXPECT_THAT(error.what(),
                  AllOf(HasSubstr((partial / name).string()), HasSubstr("give it another name")));
    }
    EXPECT_EQ(read(partial / name), "a guest's");
    EXPECT_FALSE(fs::exists(partial / "model.safetensors"));
    EXPECT_EQ(content_of(1), "old");
  }
}

TEST_F(CheckpointFolderTest, AnOlderGenerationCommitsNoMore) {
  const Claim first{"job", 1}, second{"job", 2}, other{"rerun", 1};
  claim_checkpoints(parent_, first);
  save(1, "one", {.claim = first});
  claim_checkpoints(parent_, second);
  EXPECT_THROW(save(2, "late", {.claim = first}), CheckpointError);
  EXPECT_THROW(claim_checkpoints(parent_, first), CheckpointError);
  EXPECT_EQ(newest()->manifest.iteration, 1u);
  save(2, "two", {.claim = second});
  // Another job starts counting afresh.
  claim_checkpoints(parent_, other);
  EXPECT_THROW(save(3, "late", {.claim = second}), CheckpointError);
  save(3, "three", {.claim = other});
}

}  // namespace
}  // namespace accel
