// The numbers of the checkpoints that save_state() names, and which one resume_from_newest() loads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "runtime/core/checkpoint_layout.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/saved_run.h"

namespace accel::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

TEST(CheckpointNumbersTest, ContinueAfterTheNewestGoodOneIsLoaded) {
  const fs::path folder = fresh_folder();
  {
    SavedRun run(folder, 3);
    EXPECT_FALSE(run.accelerator.resume_from_newest());
    EXPECT_THAT(error_of([&] { run.accelerator.load_state(); }), HasSubstr("no complete"));
    for (int i = 0; i < 3; ++i) {
      run.train(1);
      run.accelerator.save_state();
    }
  }
  const fs::path newest = folder / "checkpoints/checkpoint_2";
  fs::resize_file(newest / "optimizer.bin", 10);
  SavedRun run(folder, 3);
  EXPECT_THAT(error_of([&] { run.accelerator.load_state(newest); }),
              HasSubstr("optimizer.bin: it is torn"));
  EXPECT_TRUE(run.accelerator.resume_from_newest());
  EXPECT_EQ(run.progress.step, 2);
  // The skipped checkpoint does not block the next save.
  run.accelerator.save_state();
  run.accelerator.wait_for_save();
  EXPECT_TRUE(fs::exists(folder / "checkpoints/checkpoint_3/manifest.json"));
  // Neither do checkpoints that are newer than the loaded one.
  run.accelerator.load_state(folder / "checkpoints/checkpoint_1");
  run.accelerator.save_state(folder / "named");
  run.accelerator.save_state();
  run.accelerator.wait_for_save();
  EXPECT_TRUE(fs::exists(folder / "checkpoints/checkpoint_4/manifest.json"));
  // A checkpoint with a given name takes no number.
  SavedRun fresh(folder);
  fresh.accelerator.load_state(folder / "named");
  fresh.accelerator.save_state();
  fresh.accelerator.wait_for_save();
  EXPECT_TRUE(fs::exists(folder / "checkpoints/checkpoint_5/manifest.json"));
}

// Folders without accel's manifest belong to another program: they are kept, and their numbers
// are not used.
TEST(CheckpointNumbersTest, SkipThoseOfFoldersThatAreNoCheckpoints) {
  const fs::path folder = fresh_folder();
  for (int i = 0; i < 2; ++i) fs::create_directories(folder / "checkpoints" / checkpoint_name(i));
  SavedRun run(folder, 1);
  EXPECT_FALSE(run.accelerator.resume_from_newest());
  for (const char* next : {"checkpoint_2", "checkpoint_3"}) {
    run.train(1);
    run.accelerator.save_state();
    run.accelerator.wait_for_save();
    EXPECT_THAT(entries_of(folder / "checkpoints"),
                UnorderedElementsAre("checkpoint_0", "checkpoint_1", next));
  }
  SavedRun again(folder, 1);
  EXPECT_TRUE(again.accelerator.resume_from_newest());
  EXPECT_EQ(again.progress.step, 2);
  // A damaged checkpoint is no reason to start from scratch.
  fs::resize_file(folder / "checkpoints/checkpoint_3/optimizer.bin", 10);
  EXPECT_THAT(error_of([&] { again.accelerator.resume_from_newest(); }),
              HasSubstr("damaged (checkpoint_3): move them away"));
}

TEST(CheckpointNumbersTest, SkipThoseOfAnotherRunsCheckpoints) {
  const fs::path folder = fs::path(testing::TempDir()) / "used_folder";
  const fs::path parent = folder / "checkpoints";
  if (std::getenv("RANK") == nullptr) {
    fs::remove_all(folder);
    SavedRun other(folder, 1);
    for (int i = 0; i < 3; ++i) other.accelerator.save_state();
  }
  on_ranks(2, [&] {
    SavedRun run(folder, 1);
    run.train(1);
    std::string hooked;
    run.accelerator.register_save_state_pre_hook([&](const std::string& at) { hooked = at; });
    for (const char* next : {"checkpoint_3", "checkpoint_4"}) {
      run.accelerator.save_state();
      run.accelerator.wait_for_save();
      EXPECT_THAT(hooked, HasSubstr(next));
      EXPECT_THAT(entries_of(parent), ElementsAre(next));
      run.accelerator.wait_for_everyone();
    }
    // A folder that another run has made meanwhile is not overwritten.
    if (run.accelerator.is_main_process()) fs::create_directories(parent / "checkpoint_5");
    EXPECT_THAT(error_of([&] { run.accelerator.save_state(); }), HasSubstr("already exists"));
    run.accelerator.wait_for_everyone();
  });
}

TEST(CheckpointNumbersTest, CanBeSet) {
  const fs::path folder = fresh_folder();
  SavedRun run(folder);
  run.accelerator.save_state();
  EXPECT_EQ(run.accelerator.save_iteration(), 1u);
  run.accelerator.set_save_iteration(7);
  run.accelerator.save_state();
  run.accelerator.wait_for_save();
  EXPECT_THAT(entries_of(folder / "checkpoints"),
              UnorderedElementsAre("checkpoint_0", "checkpoint_7"));
  EXPECT_EQ(run.accelerator.save_iteration(), 8u);
  run.accelerator.set_save_iteration(7);
  EXPECT_THAT(error_of([&] { run.accelerator.save_state(); }), HasSubstr("already exists"));
}

}  // namespace
}  // namespace accel::runtime
