// One loop over a data loader: one epoch, or the rest of an epoch.
#pragma once

#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/core/epoch_sequence.h"
#include "runtime/core/running_loops.h"
#include "runtime/data/batch_stream.h"
#include "runtime/data/device_transfer.h"

namespace accel::runtime {

// The steps of a loop, without the type of its batches. Not thread-safe.
//
// A loop reads one batch ahead, for two reasons. The next batch is copied to the device while the
// program processes the current one. And the loop must know whether the current batch is the last
// one, for gather_for_metrics() and gradient accumulation. If reading throws, the exception waits
// until the batches before it are processed, and then ends the epoch.
class LoopSteps {
 public:
  LoopSteps(std::shared_ptr<RunningLoops> loops, std::shared_ptr<EpochProgress> progress)
      : loops_(std::move(loops)), progress_(std::move(progress)) {}
  virtual ~LoopSteps() { loops_->leave(&progress_->step); }
  LoopSteps(const LoopSteps&) = delete;
  LoopSteps& operator=(const LoopSteps&) = delete;

  bool done() const { return progress_->done; }

  // Makes the next batch the current one, or ends the loop. Throws what reading that batch threw.
  void advance();

 protected:
  // Reads the first batch and makes it the current one. Constructors of derived classes
  // call it last.
  void start();

 private:
  // Reads the next batch and begins to copy it to the device. Returns std::nullopt at the end.
  virtual std::optional<StepSamples> read_ahead() = 0;
  // Makes the batch that was read ahead the current one.
  virtual void take() = 0;
  virtual void drop_current() = 0;
  // Ends the threads that read.
  virtual void close() = 0;

  void read();
  void finish();

  const std::shared_ptr<RunningLoops> loops_;
  const std::shared_ptr<EpochProgress> progress_;
  // The samples of the batch that was read ahead, if there is one.
  std::optional<StepSamples> ahead_;
  // The reason why no batch was read ahead. Null at the end of the epoch.
  std::exception_ptr error_;
};

// A loop and its batches.
template <typename Batch>
class EpochLoop final : public LoopSteps {
 public:
  EpochLoop(std::unique_ptr<BatchStream<Batch>> stream,
            std::shared_ptr<const DeviceTransfer> transfer, std::shared_ptr<RunningLoops> loops,
            std::shared_ptr<EpochProgress> progress)
      : LoopSteps(std::move(loops), std::move(progress)),
        stream_(std::move(stream)),
        transfer_(std::move(transfer)) {
    start();
  }

  // The current batch, while not done().
  Batch& batch() { return *current_; }

 private:
  std::optional<StepSamples> read_ahead() override {
    next_.reset();
    next_ = stream_->next();
    if (!next_) return std::nullopt;
    copied_ = transfer_->begin_copy(next_->batch);
    return next_->samples;
  }
  void take() override {
    transfer_->finish_copy(next_->batch, copied_);
    current_ = std::move(next_->batch);
  }
  void drop_current() override { current_.reset(); }
  void close() override { stream_.reset(); }

  std::unique_ptr<BatchStream<Batch>> stream_;
  const std::shared_ptr<const DeviceTransfer> transfer_;
  std::optional<Batch> current_;
  std::optional<LoadedBatch<Batch>> next_;
  CopyEvent copied_;
};

// The iterator of a loop. Copies are iterators of the same loop.
template <typename Batch>
class LoaderIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Batch;
  using difference_type = std::ptrdiff_t;
  using pointer = Batch*;
  using reference = Batch&;

  explicit LoaderIterator(std::shared_ptr<EpochLoop<Batch>> loop) : loop_(std::move(loop)) {}
  Batch& operator*() const { return loop_->batch(); }
  Batch* operator->() const { return &loop_->batch(); }
  LoaderIterator& operator++() {
    loop_->advance();
    return *this;
  }
  friend bool operator==(const LoaderIterator& it, std::default_sentinel_t) {
    return it.loop_->done();
  }

 private:
  std::shared_ptr<EpochLoop<Batch>> loop_;
};

}  // namespace accel::runtime
