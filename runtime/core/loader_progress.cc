#include "runtime/core/loader_progress.h"

#include <stdexcept>
#include <utility>

namespace accel {

std::shared_ptr<RunningEpoch> LoaderProgress::begin() {
  auto epoch = std::make_shared<RunningEpoch>();
  epoch->number = next_epoch_++;
  epoch->position.seen_samples = std::exchange(next_samples_, 0);
  running_ = epoch;
  return epoch;
}

std::shared_ptr<const RunningEpoch> LoaderProgress::running() const {
  auto epoch = running_.lock();
  return epoch == nullptr || epoch->done ? nullptr : epoch;
}

std::size_t LoaderProgress::epoch() const {
  const auto epoch = running();
  return epoch != nullptr ? epoch->number : next_epoch_;
}

void LoaderProgress::set_epoch(std::size_t epoch) {
  next_epoch_ = epoch;
  next_samples_ = 0;
}

LoaderState LoaderProgress::state() const {
  check_prepared();
  const auto epoch = running();
  if (epoch == nullptr) return {.epoch = next_epoch_, .seed = *seed_, .samples = next_samples_};
  return {.epoch = epoch->number, .seed = *seed_, .samples = epoch->position.seen_samples};
}

void LoaderProgress::load(const LoaderState& state) {
  check_prepared();
  seed_ = state.seed;
  next_epoch_ = state.epoch;
  next_samples_ = state.samples;
}

void LoaderProgress::check_prepared() const {
  if (!seed_) throw std::logic_error("only a prepared loader has a state to save or to load");
}

}  // namespace accel
