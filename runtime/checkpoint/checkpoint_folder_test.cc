#include "runtime/checkpoint/checkpoint_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>

#include "runtime/core/checkpoint_error.h"
#include "runtime/core/checkpoint_layout.h"

namespace accel {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
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
    write_checkpoint(parent_ / checkpoint_name(iteration),
                     {{"model.safetensors", {content, "-", content}}, {"optimizer.bin", {content}}},
                     how);
  }

  static std::string read(const fs::path& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  std::optional<FoundCheckpoint> newest() {
    skipped_.clear();
    return newest_checkpoint(parent_, [&](const std::string& why) { skipped_.push_back(why); });
  }

  // Writes in a process that kills itself at the nth stage; false if it got to its end.
  bool killed_at(int nth, const std::function<void(CheckpointWrite)>& write) {
    const pid_t pid = fork();
    if (pid == 0) {
      int stage = 0;
      write({.at_stage = [&](SaveStage) {
        if (++stage == nth) kill(getpid(), SIGKILL);
      }});
      _exit(0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status);
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
  EXPECT_EQ(read(found->folder / "model.safetensors"), "three-three");
  EXPECT_FALSE(fs::exists(parent_ / "checkpoint_3.partial"));
}

// What a crash leaves: with a new name the older checkpoint or the new one, never neither.
TEST_F(CheckpointFolderTest, KilledAtEveryStageOfANewOne) {
  int stages = 0;
  for (int nth = 1;; ++nth) {
    SetUp();
    save(1, "one");
    const bool killed =
        killed_at(nth, [&](CheckpointWrite how) { save(2, "two", std::move(how)); });
    const auto found = newest();
    ASSERT_TRUE(found) << nth;
    EXPECT_THAT(skipped_, IsEmpty()) << nth;
    const bool committed = found->manifest.iteration == 2;
    EXPECT_EQ(read(found->folder / "optimizer.bin"), committed ? "two" : "one") << nth;
    if (!killed) EXPECT_TRUE(committed);
    // The next save is not in the way of what was left.
    save(2, "again");
    remove_old_checkpoints(parent_, 1);
    EXPECT_EQ(read(parent_ / "checkpoint_2/optimizer.bin"), "again");
    EXPECT_FALSE(fs::exists(parent_ / "checkpoint_2.partial"));
    EXPECT_FALSE(fs::exists(parent_ / "checkpoint_1"));
    if (!killed) break;
    ++stages;
  }
  EXPECT_EQ(stages, 7);  // Two files among them.
}

TEST_F(CheckpointFolderTest, KilledAtEveryStageOfAReplacement) {
  for (int nth = 1;; ++nth) {
    SetUp();
    save(1, "old");
    const bool killed =
        killed_at(nth, [&](CheckpointWrite how) { save(1, "new", std::move(how)); });
    const fs::path folder = parent_ / "checkpoint_1";
    ASSERT_NO_THROW(verify_checkpoint(folder)) << nth;
    const std::string content = read(folder / "optimizer.bin");
    EXPECT_THAT(content, AnyOf("old", "new"));
    EXPECT_EQ(read(folder / "model.safetensors"), content + "-" + content);
    if (!killed) {
      EXPECT_EQ(content, "new");
      break;
    }
  }
}

TEST_F(CheckpointFolderTest, KilledWhileOldOnesAreRemoved) {
  save(1, "one");
  save(2, "two");
  fs::remove(parent_ / "checkpoint_1" / kManifestFile);
  const auto found = newest();
  EXPECT_EQ(found->manifest.iteration, 2u);
  remove_old_checkpoints(parent_, 1);
  EXPECT_FALSE(fs::exists(parent_ / "checkpoint_1"));
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

TEST_F(CheckpointFolderTest, AFailedWriteLeavesTheOldOne) {
  save(1, "one");
  EXPECT_THROW(save(1, "two",
                    {.at_stage =
                         [](SaveStage stage) {
                           if (stage == SaveStage::kManifestWritten)
                             throw CheckpointError("disk full");
                         }}),
               CheckpointError);
  EXPECT_EQ(read(parent_ / "checkpoint_1/optimizer.bin"), "one");
  std::ofstream(parent_ / "file") << "x";
  EXPECT_THROW(write_checkpoint(parent_ / "file" / "checkpoint", {}, {}), CheckpointError);
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
