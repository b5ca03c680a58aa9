#include "runtime/core/epoch_sequence.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace accel::runtime {
namespace {

TEST(EpochSequenceTest, AStepCountsWhileItIsProcessed) {
  EpochSequence progress(7);
  EXPECT_EQ(progress.state(), (LoaderState{.epoch = 0, .seed = 7, .samples = 0}));
  auto epoch = progress.begin();
  epoch->step.seen_samples = 12;
  EXPECT_EQ(progress.state(), (LoaderState{.epoch = 0, .seed = 7, .samples = 12}));
  epoch->done = epoch->over = true;
  EXPECT_EQ(progress.state(), (LoaderState{.epoch = 1, .seed = 7, .samples = 0}));
  EXPECT_EQ(progress.epoch(), 1u);
}

// A run that is asked to stop leaves its loop and then saves.
TEST(EpochSequenceTest, AnEpochThatIsLeftEarlyIsSavedUntilTheNextOneBegins) {
  EpochSequence progress(7);
  progress.begin()->step.seen_samples = 12;
  EXPECT_EQ(progress.running(), nullptr);
  EXPECT_EQ(progress.epoch(), 1u);
  EXPECT_EQ(progress.state(), (LoaderState{.epoch = 0, .seed = 7, .samples = 12}));
  auto next = progress.begin();
  EXPECT_EQ(next->number, 1u);
  EXPECT_EQ(progress.state(), (LoaderState{.epoch = 1, .seed = 7, .samples = 0}));
  next->step.seen_samples = 5;
  next->done = true;  // The loop has failed.
  EXPECT_EQ(progress.state(), (LoaderState{.epoch = 1, .seed = 7, .samples = 5}));
  progress.load({.epoch = 8, .seed = 7, .samples = 3});
  EXPECT_EQ(progress.state(), (LoaderState{.epoch = 8, .seed = 7, .samples = 3}));
}

TEST(EpochSequenceTest, SetEpochDiscardsAnEpochLeftEarly) {
  EpochSequence progress(7);
  progress.begin()->step.seen_samples = 12;
  progress.set_epoch(progress.epoch());
  EXPECT_EQ(progress.state(), (LoaderState{.epoch = 1, .seed = 7, .samples = 0}));
  auto epoch = progress.begin();
  epoch->step.seen_samples = 4;
  progress.set_epoch(5);
  EXPECT_EQ(progress.state(), (LoaderState{.epoch = 1, .seed = 7, .samples = 4}));
  epoch.reset();
  EXPECT_EQ(progress.state(), (LoaderState{.epoch = 5, .seed = 7, .samples = 0}));
}

TEST(EpochSequenceTest, ResumesTheSavedEpoch) {
  EpochSequence progress(7);
  const LoaderState saved{.epoch = 3, .seed = 9, .samples = 40};
  progress.load(saved);
  EXPECT_EQ(progress.state(), saved);
  auto epoch = progress.begin();
  EXPECT_EQ(epoch->number, 3u);
  EXPECT_EQ(epoch->step.seen_samples, 40u);
  epoch.reset();
  epoch = progress.begin();
  EXPECT_EQ(epoch->number, 4u);
  EXPECT_EQ(epoch->step.seen_samples, 0u);
}

TEST(EpochSequenceTest, SetEpochBeginsAtTheFirstSampleUnlessLoadSetThatEpoch) {
  EpochSequence progress(7);
  progress.load({.epoch = 3, .seed = 9, .samples = 40});
  progress.set_epoch(3);
  EXPECT_EQ(progress.state(), (LoaderState{.epoch = 3, .seed = 9, .samples = 40}));
  progress.set_epoch(5);
  EXPECT_EQ(progress.state(), (LoaderState{.epoch = 5, .seed = 9, .samples = 0}));
}

TEST(EpochSequenceTest, WithoutASeedThereIsNoState) {
  EXPECT_THROW(EpochSequence().state(), std::logic_error);
  EXPECT_THROW(EpochSequence().load({}), std::logic_error);
}

}  // namespace
}  // namespace accel::runtime
