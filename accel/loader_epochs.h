// The methods for epochs and checkpoints that all data loaders of accel have.
// Programs get them through accel/data_loader.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <ranges>
#include <utility>

#include "runtime/core/epoch_sequence.h"

namespace accel {

// The base class of all data loaders: counts their epochs, and saves and restores their position.
//
// Each loop over a loader is an epoch. If a loop is left early, the next loop is the next
// epoch. Not thread-safe.
class LoaderEpochs {
 public:
  // Returns the number of the running epoch, or outside of a loop that of the next one. The first
  // epoch is 0. The number and the seed determine the order of the samples.
  std::size_t epoch() const;

  // Returns the epoch numbers from epoch() to `count` - 1, for the outer loop of a training. After
  // load_state(), epoch() is the epoch that was saved.
  auto epochs(std::size_t count) const { return std::views::iota(std::min(epoch(), count), count); }

  // Makes the next loop this epoch, from its first sample. If load_state_dict() or load_state() has
  // set a position inside this epoch, the loop resumes at that position. So a program may call
  // set_epoch() before each loop.
  void set_epoch(std::size_t epoch);

  // Returns true while the last batch of the running epoch is being processed.
  bool end_of_dataloader() const;

  // Returns how many samples all processes have in the running step, not counting repeated ones;
  // 0 outside of a loop.
  std::size_t real_samples() const;

  // The position of a prepared loader. state_dict() returns the same on all ranks, within a loop
  // and between loops. Within a loop, the current batch counts as seen. After a loop that was left
  // by break or an exception, state_dict() returns the position where it was left, until the next
  // loop begins. A checkpoint that is saved in between resumes inside that epoch. A program that
  // leaves epochs early on purpose, for example after a number of steps, calls set_epoch(epoch())
  // before it saves.
  //
  // After load_state_dict() on every rank, the next loop yields the rest of that epoch, each sample
  // once. The number of processes and the batch size may differ from those of the save. The loops
  // after it are whole epochs. For this the program must make the same dataset and sampler again.
  // The order of a sampler must depend only on set_epoch() and the process-wide CPU generator,
  // which is seeded for each epoch. A stream must yield the samples of an epoch in the same order
  // again, because it reads the seen samples again and drops them.
  //
  // state_dict() and load_state_dict() throw std::logic_error if the loader is not prepared.
  runtime::LoaderState state_dict() const;
  void load_state_dict(const runtime::LoaderState& state);

  // Returns the object that checkpoints save and restore for a prepared loader.
  const std::shared_ptr<runtime::EpochSequence>& sequence() const { return sequence_; }

 protected:
  LoaderEpochs() = default;
  explicit LoaderEpochs(std::shared_ptr<runtime::EpochSequence> sequence)
      : sequence_(std::move(sequence)) {}
  ~LoaderEpochs() = default;
  LoaderEpochs(const LoaderEpochs&) = default;
  LoaderEpochs& operator=(const LoaderEpochs&) = default;

  std::shared_ptr<runtime::EpochSequence> sequence_ = std::make_shared<runtime::EpochSequence>();
};

}  // namespace accel
