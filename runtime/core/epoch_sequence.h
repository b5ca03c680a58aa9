// How far a loader is: which epoch, and how many of its samples.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/core/step_samples.h"

namespace accel {

// All that another run needs to go on where a loader is, with any number of processes and any batch
// size. The same on all ranks.
struct LoaderState {
  // The epoch that goes on, or begins if no sample of it was seen.
  std::uint64_t epoch = 0;
  // What, with the epoch, determines the sampler's order.
  std::uint64_t seed = 0;
  // Samples that were seen of the epoch, by all processes: the sampler's first ones.
  std::uint64_t samples = 0;

  friend bool operator==(const LoaderState&, const LoaderState&) = default;
};

// One loop over a loader.
struct EpochProgress {
  std::size_t number = 0;
  bool done = false;  // It hands out nothing more.
  bool over = false;  // Nobody goes on with it: it ran to its end, or another one was set.
  StepSamples step;
};

// Not thread-safe.
class EpochSequence {
 public:
  // Without a seed, orders come from the process-wide generator and cannot be had again.
  explicit EpochSequence(std::optional<std::uint64_t> seed = std::nullopt) : seed_(seed) {}

  std::optional<std::uint64_t> seed() const { return seed_; }

  // Begins the next epoch; its position holds the samples that count as seen. It runs until it is
  // done or let go of. The next one begins after that, also if it was left early.
  std::shared_ptr<EpochProgress> begin();

  // The running epoch, or null.
  std::shared_ptr<const EpochProgress> running() const;

  // The number of the running epoch, or of the next one outside of any loop.
  std::size_t epoch() const;

  // The next loop is epoch `epoch`, from its first sample; if load() said that this one goes on,
  // from there.
  void set_epoch(std::size_t epoch);

  // While a loop runs, the step that is being processed counts as seen. Where a loop was left
  // before it was over, its state then stays until the next one begins, or set_epoch(), or load().
  // Throws std::logic_error without a seed.
  LoaderState state() const;

  // The next loop goes on as `state` says. A running loop is not affected. Throws std::logic_error
  // without a seed.
  void load(const LoaderState& state);

 private:
  void check_prepared() const;

  std::optional<std::uint64_t> seed_;
  std::size_t next_epoch_ = 0;
  std::size_t next_samples_ = 0;
  std::shared_ptr<EpochProgress> last_;   // Kept when it is let go of; may be null.
  std::weak_ptr<EpochProgress> running_;  // The same, while somebody else has it.
};

}  // namespace accel
