#include "runtime/checkpoint/extra_files.h"

#include <mutex>
#include <set>

#include "runtime/checkpoint/checkpoint_test_folder.h"
#include "runtime/testing/disk_faults.h"

namespace accel::runtime {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

class ExtraFilesTest : public CheckpointFolderTest {};

// The commit takes the older folder's place, so the unlisted files must be durable by then.
TEST_F(ExtraFilesTest, UnlistedFoldersAreSyncedBeforeTheCommit) {
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

TEST_F(ExtraFilesTest, ExtraFoldersBecomePartOfTheCheckpoint) {
  const fs::path folder = parent_ / "checkpoint_1";
  const fs::path partial = begin_checkpoint(folder);
  fs::create_directories(partial / "logs/deep");
  std::ofstream(partial / "logs/deep/loss.txt") << "0.5";
  commit_checkpoint(folder, {}, {});
  EXPECT_EQ(verify_checkpoint(folder).files.count("logs/deep/loss.txt"), 1u);
  std::ofstream(folder / "logs/deep/loss.txt") << "0.6";
  EXPECT_THROW(verify_checkpoint(folder), CheckpointError);

  fs::create_symlink("/dev/null", begin_checkpoint(folder) / "link");
  EXPECT_THROW(commit_checkpoint(folder, {}, {}), CheckpointError);
}

TEST_F(ExtraFilesTest, AnExtraFileWithTheNameOfACheckpointFileIsRefusedBeforeAnythingIsWritten) {
  save(1, "old");
  for (const char* name : {"manifest.json", "optimizer.bin"}) {
    const fs::path partial = begin_checkpoint(parent_ / "checkpoint_1");
    std::ofstream(partial / name) << "a hook's";
    const CheckpointFile first{.name = "model.safetensors", .write = [](const ByteSink&) {}};
    const CheckpointFile second{.name = "optimizer.bin", .write = [](const ByteSink&) {}};
    try {
      commit_checkpoint(parent_ / "checkpoint_1", {first, second}, {});
      ADD_FAILURE() << name;
    } catch (const CheckpointError& error) {
      EXPECT_THAT(error.what(),
                  AllOf(HasSubstr((partial / name).string()), HasSubstr("give it another name")));
    }
    EXPECT_EQ(read(partial / name), "a hook's");
    EXPECT_FALSE(fs::exists(partial / "model.safetensors"));
    EXPECT_EQ(content_of(1), "old");
  }
}

}  // namespace
}  // namespace accel::runtime
