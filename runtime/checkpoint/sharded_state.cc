#include "runtime/checkpoint/sharded_state.h"

#include <torch/optim/optimizer.h>

#include <algorithm>
#include <utility>

namespace accel::runtime {
namespace {

using torch::optim::Optimizer;

// Adds the k-th moments of a unit's parameters.
void add_moments(Optimizer& optimizer, const ShardedUnit& unit, std::size_t k, bool is_main,
                 WholeTensors& wholes) {
  std::vector<torch::Tensor*> places(unit.size());
  std::vector<torch::Tensor> pieces(unit.size());
  for (std::size_t i = 0; i < unit.size(); ++i) {
    const auto moments = moments_for(optimizer, unit.parameter(i).tensor);
    if (k >= moments.size() || !moments[k]->defined()) continue;
    places[i] = moments[k];
    pieces[i] = *moments[k];
  }
  const auto is_undefined = [](const torch::Tensor& piece) { return !piece.defined(); };
  if (std::all_of(pieces.begin(), pieces.end(), is_undefined)) return;
  const std::vector<torch::Tensor> all = unit.wholes_of(pieces);
  for (std::size_t i = 0; is_main && i < all.size(); ++i) {
    if (places[i] != nullptr) wholes[places[i]] = all[i];
  }
}

}  // namespace

std::vector<torch::Tensor*> moments_for(Optimizer& optimizer, const torch::Tensor& parameter) {
  const auto state = optimizer.state().find(parameter.unsafeGetTensorImpl());
  if (state == optimizer.state().end()) return {};
  return known_moments_of(*state->second);
}

std::shared_ptr<ShardedModel> find_sharded(ProcessState& process, const torch::nn::Module& module) {
  return std::dynamic_pointer_cast<ShardedModel>(process.models.find(module));
}

NamedTensors whole_gradients(ShardedModel& model) {
  NamedTensors gradients;
  for (const auto& unit : model.units()) {
    std::vector<torch::Tensor> pieces;
    for (std::size_t i = 0; i < unit->size(); ++i) {
      pieces.push_back(unit->parameter(i).tensor.grad());
    }
    const std::vector<torch::Tensor> all = unit->wholes_of(pieces);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].defined()) gradients.emplace_back(unit->parameter(i).name, all[i]);
    }
  }
  for (const UnitParameter& one : model.ignored()) {
    if (one.tensor.grad().defined()) gradients.emplace_back(one.name, one.tensor.grad());
  }
  return gradients;
}

WholeTensors whole_moments(Optimizer& optimizer, const ShardedModel& model, bool is_main) {
  constexpr std::size_t kMostMoments = 3;  // See moments_of().
  WholeTensors wholes;
  for (const auto& unit : model.units()) {
    for (std::size_t k = 0; k < kMostMoments; ++k) {
      add_moments(optimizer, *unit, k, is_main, wholes);
    }
  }
  return wholes;
}

std::map<const void*, ElementRange> held_elements(const ShardedModel& model) {
  std::map<const void*, ElementRange> held;
  for (const auto& unit : model.units()) {
    for (std::size_t i = 0; i < unit->size(); ++i) {
      held[unit->parameter(i).tensor.unsafeGetTensorImpl()] = unit->held(i);
    }
  }
  return held;
}

}  // namespace accel::runtime
