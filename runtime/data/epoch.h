// One loop over a data loader.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "runtime/core/loader_progress.h"
#include "runtime/data/batch.h"
#include "runtime/data/batch_stream.h"
#include "runtime/data/loader_binding.h"

namespace accel {

// Reads one batch ahead, so that the last one is known as such while it is processed. Not
// thread-safe.
template <typename Batch>
class Epoch {
 public:
  Epoch(std::unique_ptr<BatchStream<Batch>> stream, const LoaderBinding& binding,
        std::shared_ptr<RunningEpoch> running)
      : stream_(std::move(stream)),
        device_(binding.device),
        active_(binding.active),
        running_(std::move(running)) {
    ahead_ = fetch();
    active_->enter(&running_->position);
    advance();
  }
  ~Epoch() { active_->leave(&running_->position); }
  Epoch(const Epoch&) = delete;
  Epoch& operator=(const Epoch&) = delete;

  bool done() const { return running_->done; }
  Batch& batch() { return *current_; }

  void advance() {
    if (!ahead_) {
      current_.reset();
      running_->position = {};
      running_->done = true;
      return;
    }
    current_ = std::move(ahead_->batch);
    running_->position = ahead_->position;
    ahead_ = fetch();
    running_->position.end_of_dataloader = !ahead_;
  }

 private:
  std::optional<Step<Batch>> fetch() {
    std::optional<Step<Batch>> step = stream_->next();
    if (step) step->batch = to_device(std::move(step->batch), device_);
    return step;
  }

  const std::unique_ptr<BatchStream<Batch>> stream_;
  const c10::Device device_;
  const std::shared_ptr<ActiveLoaders> active_;
  const std::shared_ptr<RunningEpoch> running_;
  std::optional<Batch> current_;
  std::optional<Step<Batch>> ahead_;
};

}  // namespace accel
