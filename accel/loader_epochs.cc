#include "accel/loader_epochs.h"

namespace accel {

std::size_t LoaderEpochs::epoch() const { return sequence_->epoch(); }

void LoaderEpochs::set_epoch(std::size_t epoch) { sequence_->set_epoch(epoch); }

bool LoaderEpochs::end_of_dataloader() const {
  const auto running = sequence_->running();
  return running != nullptr && running->step.end_of_dataloader;
}

std::size_t LoaderEpochs::real_samples() const {
  const auto running = sequence_->running();
  return running != nullptr ? running->step.real_samples : 0;
}

runtime::LoaderState LoaderEpochs::state_dict() const { return sequence_->state(); }

void LoaderEpochs::load_state_dict(const runtime::LoaderState& state) { sequence_->load(state); }

}  // namespace accel
