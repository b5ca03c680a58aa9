#include "runtime/checkpoint/retention.h"

#include <algorithm>
#include <cerrno>

#include "runtime/checkpoint/checkpoint_test_folder.h"
#include "runtime/testing/disk_faults.h"

namespace accel::runtime {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class RetentionTest : public CheckpointFolderTest {};

// A checkpoint that cannot be deleted is no reason to keep the others, or to report the
// new one as lost.
TEST_F(RetentionTest, AFailureToDeleteIsLoggedAndTheOthersAreDeleted) {
  for (const std::uint64_t i : {0, 1, 2}) save(i, "one of them");
  set_disk_faults(
      {.under = parent_ / "checkpoint_0", .error = [](const DiskOperation&) { return EACCES; }});
  testing::internal::CaptureStderr();
  EXPECT_NO_THROW(delete_old_checkpoints(parent_ / "checkpoint_2", 1));
  set_disk_faults({});
  const std::string logged = testing::internal::GetCapturedStderr();
  EXPECT_THAT(logged, AllOf(HasSubstr("could not delete old checkpoint"), HasSubstr("checkpoint_0"),
                            HasSubstr("Permission denied")));
  EXPECT_EQ(std::count(logged.begin(), logged.end(), '\n'), 1);
  EXPECT_TRUE(fs::exists(parent_ / "checkpoint_0"));
  EXPECT_FALSE(fs::exists(parent_ / "checkpoint_1"));
  EXPECT_EQ(content_of(2), "one of them");
}

// Python's Accelerate gives its checkpoints the same names, and no manifest.
TEST_F(RetentionTest, FoldersWithoutAManifestAreNotCountedAndNotDeleted) {
  for (const std::uint64_t i : {0, 1}) save(i, "with a manifest");
  for (const char* name : {"checkpoint_2", "checkpoint_9"}) {
    fs::create_directories(parent_ / name);
    std::ofstream(parent_ / name / "model.safetensors") << "precious";
  }
  EXPECT_EQ(newest()->manifest.iteration, 1u);
  fs::create_directories(parent_ / "notes.replaced");
  save(10, "the last");
  delete_old_checkpoints(parent_ / "checkpoint_10", 2);
  EXPECT_FALSE(fs::exists(parent_ / "checkpoint_0"));
  EXPECT_EQ(content_of(1), "with a manifest");
  for (const char* name : {"checkpoint_2", "checkpoint_9"}) {
    EXPECT_EQ(read(parent_ / name / "model.safetensors"), "precious");
  }
  for (const std::uint64_t i : {1, 10}) fs::remove_all(parent_ / checkpoint_name(i));
  EXPECT_FALSE(newest());
  EXPECT_TRUE(fs::exists(parent_ / "notes.replaced"));
}

TEST_F(RetentionTest, TornCheckpointsAreDeletedFirst) {
  for (const std::uint64_t i : {0, 1, 2}) save(i, "one of them");
  fs::resize_file(parent_ / "checkpoint_1/optimizer.bin", 1);
  delete_old_checkpoints(parent_ / "checkpoint_2", 2);
  EXPECT_EQ(content_of(0), "one of them");
  EXPECT_FALSE(fs::exists(parent_ / "checkpoint_1"));
}

}  // namespace
}  // namespace accel::runtime
