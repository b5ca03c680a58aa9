#include "runtime/core/loader_progress.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace accel {
namespace {

TEST(LoaderProgressTest, AStepCountsWhileItIsProcessed) {
  LoaderProgress progress(7);
  EXPECT_EQ(progress.state(), (LoaderState{.epoch = 0, .seed = 7, .samples = 0}));
  auto epoch = progress.begin();
  epoch->position.seen_samples = 12;
  EXPECT_EQ(progress.state(), (LoaderState{.epoch = 0, .seed = 7, .samples = 12}));
  epoch->done = true;
  EXPECT_EQ(progress.state(), (LoaderState{.epoch = 1, .seed = 7, .samples = 0}));
  EXPECT_EQ(progress.epoch(), 1u);
}

TEST(LoaderProgressTest, AnEpochThatIsLeftEarlyIsOver) {
  LoaderProgress progress(7);
  progress.begin()->position.seen_samples = 12;
  EXPECT_EQ(progress.running(), nullptr);
  EXPECT_EQ(progress.state(), (LoaderState{.epoch = 1, .seed = 7, .samples = 0}));
}

TEST(LoaderProgressTest, GoesOnInTheEpochThatWasSaved) {
  LoaderProgress progress(7);
  const LoaderState saved{.epoch = 3, .seed = 9, .samples = 40};
  progress.load(saved);
  EXPECT_EQ(progress.state(), saved);
  auto epoch = progress.begin();
  EXPECT_EQ(epoch->number, 3u);
  EXPECT_EQ(epoch->position.seen_samples, 40u);
  epoch.reset();
  epoch = progress.begin();
  EXPECT_EQ(epoch->number, 4u);
  EXPECT_EQ(epoch->position.seen_samples, 0u);
}

TEST(LoaderProgressTest, SetEpochBeginsAtTheFirstSample) {
  LoaderProgress progress(7);
  progress.load({.epoch = 3, .seed = 9, .samples = 40});
  progress.set_epoch(5);
  EXPECT_EQ(progress.state(), (LoaderState{.epoch = 5, .seed = 9, .samples = 0}));
}

TEST(LoaderProgressTest, WithoutASeedThereIsNoState) {
  EXPECT_THROW(LoaderProgress().state(), std::logic_error);
  EXPECT_THROW(LoaderProgress().load({}), std::logic_error);
}

}  // namespace
}  // namespace accel
