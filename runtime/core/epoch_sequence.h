// The position of a loader: its epoch, and how many samples of the epoch have been seen. Decides
// which position a checkpoint saves, and where the next loop begins.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/core/step_samples.h"

namespace accel::runtime {

// The part of a loader that a checkpoint keeps. It is the same on all ranks. Any number of
// processes and any batch size can resume from it, because the order of an epoch depends only on
// seed and epoch.
struct LoaderState {
  // The epoch to resume, or to begin if `samples` is 0.
  std::uint64_t epoch = 0;
  // Determines the order of the samples, together with the epoch.
  std::uint64_t seed = 0;
  // The number of samples of the epoch that all processes together have seen. They are the first
  // ones in the sampler's order.
  std::uint64_t samples = 0;

  friend bool operator==(const LoaderState&, const LoaderState&) = default;
};

// The progress of one loop over a loader. The loop updates it as it yields batches.
struct EpochProgress {
  std::size_t number = 0;
  // The loop yields no more batches: it has ended, or it has failed.
  bool done = false;
  // The epoch is not resumed: it has run to its end, or another epoch has been set.
  bool over = false;
  StepSamples step;
};

// The epochs of one loader, in the order in which its loops run them. Not thread-safe.
class EpochSequence {
 public:
  // Without a seed, the order of samples comes from LibTorch's process-wide generator, so it cannot
  // be reproduced and the loader has no state to save.
  explicit EpochSequence(std::optional<std::uint64_t> seed = std::nullopt) : seed_(seed) {}

  std::optional<std::uint64_t> seed() const { return seed_; }

  // Begins the next epoch. In its position, the samples that were seen before already count. The
  // epoch runs until it is done, or until the last pointer to it is released. The next call begins
  // the following epoch, even if the loop left this one early.
  std::shared_ptr<EpochProgress> begin();

  // Returns the running epoch, or null outside of any loop.
  std::shared_ptr<const EpochProgress> running() const;

  // Returns the number of the running epoch, or of the next one outside of any loop.
  std::size_t epoch() const;

  // Makes `epoch` the epoch of the next loop, from its first sample. If load() has just set a
  // position inside this very epoch, the loop resumes there instead.
  void set_epoch(std::size_t epoch);

  // Returns the position to save. While a loop runs, the step that is being processed counts as
  // seen. If a loop is left before the epoch is over, the position remains inside that epoch. It
  // changes when the next loop begins, or in set_epoch() or load(). This serves a run that is asked
  // to stop, which leaves its loop and then saves. Throws std::logic_error without a seed.
  LoaderState state() const;

  // Makes the next loop resume at `state`. Does not affect a running loop. Throws std::logic_error
  // without a seed.
  void load(const LoaderState& state);

 private:
  void check_prepared() const;

  std::optional<std::uint64_t> seed_;
  std::size_t next_epoch_ = 0;
  std::size_t next_samples_ = 0;
  // The last epoch that began, also after its loop has ended. Null before the first loop.
  std::shared_ptr<EpochProgress> last_;
  // The same epoch, while its loop holds it.
  std::weak_ptr<EpochProgress> running_;
};

}  // namespace accel::runtime
