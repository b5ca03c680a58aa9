// One loop over a data loader.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/core/epoch_sequence.h"
#include "runtime/data/batch_stream.h"
#include "runtime/data/device_transfer.h"

namespace accel {

// Reads one batch ahead, so that it is on its way to the device while the one before is processed,
// and the last one is known as such. An exception of reading stands where its batch would, and ends
// the epoch. Not thread-safe.
template <typename Batch>
class EpochLoop {
 public:
  EpochLoop(std::unique_ptr<BatchStream<Batch>> stream,
            std::shared_ptr<const DeviceTransfer> transfer, std::shared_ptr<RunningLoops> active,
            std::shared_ptr<EpochProgress> running)
      : stream_(std::move(stream)),
        transfer_(std::move(transfer)),
        active_(std::move(active)),
        running_(std::move(running)) {
    fetch();
    advance();
  }
  ~EpochLoop() { active_->leave(&running_->position); }
  EpochLoop(const EpochLoop&) = delete;
  EpochLoop& operator=(const EpochLoop&) = delete;

  bool done() const { return running_->done; }
  Batch& batch() { return *current_; }

  void advance() {
    current_.reset();
    if (!ahead_) return finish();
    transfer_->receive(ahead_->batch, arrival_);
    current_ = std::move(ahead_->batch);
    running_->position = ahead_->position;
    fetch();
    running_->position.end_of_dataloader = !ahead_ && !error_;
    // The last, as nothing leaves it if the first step throws.
    active_->enter(&running_->position);
  }

 private:
  void fetch() {
    ahead_.reset();
    try {
      ahead_ = stream_->next();
      if (ahead_) arrival_ = transfer_->send(ahead_->batch);
    } catch (...) {
      ahead_.reset();
      error_ = std::current_exception();
    }
  }

  void finish() {
    running_->done = true;
    running_->over = running_->over || !error_;
    active_->leave(&running_->position);
    stream_.reset();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

  std::unique_ptr<BatchStream<Batch>> stream_;
  const std::shared_ptr<const DeviceTransfer> transfer_;
  const std::shared_ptr<RunningLoops> active_;
  const std::shared_ptr<EpochProgress> running_;
  std::optional<Batch> current_;
  std::optional<LoadedBatch<Batch>> ahead_;
  Arrival arrival_;           // Of what is ahead.
  std::exception_ptr error_;  // Stands in the place of what would be ahead.
};

}  // namespace accel
