// How ranks with different numbers of batches make the same collective calls.
//
// A backward pass is collective, so a rank that has run out of batches must take part
// in the passes of the others. It cannot predict whether the others will make a
// further pass, or over which model. So each rank announces its passes, by an
// all-gather of one number (runtime/core/join_round.h):
//
// - A rank with a batch announces the model that its pass reduces (announce()), and then makes the
//   pass.
// - A rank without batches announces 0 (finish()). From the others' numbers it learns which model
//   they reduce, and makes the same calls with gradients of zero: a shadow of the pass.
// - If all ranks announce 0, all have ended.
//
// The buffers and optimizers of a rank that has ended become out of date, because it no longer
// trains. Therefore buffers come from the lowest rank that has a batch in the round (the leader).
// The final state comes from a rank that ended last.
#include "runtime/parallel/uneven_inputs.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "runtime/comm/communicator.h"
#include "runtime/core/join_round.h"

namespace accel::runtime {

UnevenInputs::UnevenInputs(std::vector<std::shared_ptr<ParallelStrategy>> models,
                           std::shared_ptr<Communicator> communicator)
    : models_(std::move(models)), communicator_(std::move(communicator)) {
  if (models_.size() > kMaxJoinedModels) {
    throw std::invalid_argument("join_uneven_inputs: " + std::to_string(models_.size()) +
                                " prepared models are more than " +
                                std::to_string(kMaxJoinedModels));
  }
  for (const auto& model : models_) {
    if (model->joinable() != nullptr) continue;
    throw std::invalid_argument(
        "join_uneven_inputs: a rank without batches has no part of a sharded model to give: give "
        "all ranks the same number of batches (even_batches), or train without sharding");
  }
}

void UnevenInputs::announce(ParallelStrategy& model) {
  std::vector<AnnouncedModel> announced(models_.size());
  const auto known = std::find_if(models_.begin(), models_.end(),
                                  [&](const auto& joined) { return joined.get() == &model; });
  if (known == models_.end())
    throw std::logic_error("join_uneven_inputs: prepare models before it");
  announced[static_cast<std::size_t>(known - models_.begin())] = {
      .takes_part = true, .buffers = model.joinable()->broadcasts_buffers()};
  const JoinRound round = join_round(gather(announcement_of(announced)), models_.size());
  model.joinable()->set_leader(round.leader);
}

std::vector<std::int64_t> UnevenInputs::gather(std::int64_t number) {
  const OperationScope operation(communicator_.get(), "join_uneven_inputs");
  return communicator_->all_gather_number(number);
}

std::optional<int> UnevenInputs::finish() {
  // True if no other rank has made a pass since this rank has ended.
  bool ended_last = true;
  while (true) {
    const JoinRound round = join_round(gather(0), models_.size());
    if (round.over) break;
    ended_last = false;
    for (std::size_t i = 0; i < models_.size(); ++i) {
      models_[i]->joinable()->set_leader(round.leader);
      if (!round.models[i].takes_part) continue;
      models_[i]->follow_changes();
      models_[i]->agree_on_changes();
    }
    const auto pass = [&] {
      for (std::size_t i = 0; i < models_.size(); ++i) {
        if (round.models[i].takes_part)
          models_[i]->joinable()->shadow_backward(round.models[i].buffers);
      }
    };
    communicator_->run_call("backward", pass);  // Named as on the other ranks.
  }
  const auto last = gather(ended_last ? 1 : 0);
  for (const auto& model : models_) model->joinable()->set_leader(0);
  if (std::count(last.begin(), last.end(), 0) == 0) return std::nullopt;
  const int source = static_cast<int>(std::find(last.begin(), last.end(), 1) - last.begin());
  for (const auto& model : models_) model->joinable()->copy_from(source);
  return source;
}

}  // namespace accel::runtime
