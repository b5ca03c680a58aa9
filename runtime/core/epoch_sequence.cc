#include "runtime/core/epoch_sequence.h"

#include <stdexcept>
#include <utility>

namespace accel::runtime {

std::shared_ptr<EpochProgress> EpochSequence::begin() {
  last_ = std::make_shared<EpochProgress>();
  last_->number = next_epoch_++;
  last_->step.seen_samples = std::exchange(next_samples_, 0);
  // The loop gets a separate reference count. When it is left, running_ expires, while last_ still
  // has the position at which it was left.
  std::shared_ptr<EpochProgress> epoch(last_.get(), [kept = last_](EpochProgress*) {});
  running_ = epoch;
  return epoch;
}

std::shared_ptr<const EpochProgress> EpochSequence::running() const {
  auto epoch = running_.lock();
  return epoch == nullptr || epoch->done ? nullptr : epoch;
}

std::size_t EpochSequence::epoch() const {
  const auto epoch = running();
  return epoch != nullptr ? epoch->number : next_epoch_;
}

void EpochSequence::set_epoch(std::size_t epoch) {
  if (epoch != next_epoch_) next_samples_ = 0;
  next_epoch_ = epoch;
  if (last_ != nullptr) last_->over = true;
}

LoaderState EpochSequence::state() const {
  check_prepared();
  const bool goes_on = last_ != nullptr && (running() != nullptr || !last_->over);
  if (!goes_on) return {.epoch = next_epoch_, .seed = *seed_, .samples = next_samples_};
  return {.epoch = last_->number, .seed = *seed_, .samples = last_->step.seen_samples};
}

void EpochSequence::load(const LoaderState& state) {
  check_prepared();
  seed_ = state.seed;
  next_epoch_ = state.epoch;
  next_samples_ = state.samples;
  if (last_ != nullptr) last_->over = true;
}

void EpochSequence::check_prepared() const {
  if (!seed_) throw std::logic_error("only a prepared loader has a state to save or to load");
}

}  // namespace accel::runtime
