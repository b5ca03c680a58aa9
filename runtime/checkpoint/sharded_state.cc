#include "runtime/checkpoint/sharded_state.h"

#include <torch/optim/optimizer.h>

#include <algorithm>
#include <utility>

#include "runtime/checkpoint/optimizer_moments.h"

namespace accel::runtime {
namespace {

using torch::optim::Optimizer;

SavedWhole of_unit(const ShardedUnit& unit, std::size_t i, const std::string& name,
                   const torch::Tensor& piece) {
  return {.name = name,
          .shape = unit.parameter(i).tensor.sizes().vec(),
          .held = piece,
          .unit = &unit,
          .place = i};
}

SavedWhole of_whole(const std::string& name, const torch::Tensor& tensor) {
  return {.name = name, .shape = tensor.sizes().vec(), .held = tensor};
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

std::size_t SavedWhole::nbytes() const {
  std::size_t bytes = held.element_size();
  for (const std::int64_t size : shape) bytes *= static_cast<std::size_t>(size);
  return bytes;
}

torch::Tensor SavedWhole::whole() const {
  return unit == nullptr ? held : unit->whole_of(place, held);
}

std::vector<SavedWhole> whole_parameters(const ShardedModel& model) {
  std::map<const void*, std::pair<const ShardedUnit*, std::size_t>> places;
  for (const auto& unit : model.units()) {
    for (std::size_t i = 0; i < unit->size(); ++i) {
      places[unit->parameter(i).tensor.unsafeGetTensorImpl()] = {unit.get(), i};
    }
  }
  const NamedTensors state = attached_state_of(*model.module());
  NamedTensors others;  // The tensors that are in no unit.
  for (const auto& [name, tensor] : state) {
    if (!places.contains(tensor.unsafeGetTensorImpl())) others.emplace_back(name, tensor.detach());
  }
  std::map<std::string, torch::Tensor> distinct;
  for (const auto& [name, tensor] : without_tied(others)) distinct[name] = tensor;
  std::vector<SavedWhole> saved;
  for (const auto& [name, tensor] : state) {
    if (const auto other = distinct.find(name); other != distinct.end()) {
      saved.push_back(of_whole(name, other->second));
      continue;
    }
    const auto place = places.extract(tensor.unsafeGetTensorImpl());  // Its first name counts.
    if (place.empty()) continue;
    const auto& [unit, i] = place.mapped();
    saved.push_back(of_unit(*unit, i, name, unit->piece(i)));
  }
  return saved;
}

std::vector<SavedWhole> whole_gradients(const ShardedModel& model) {
  std::vector<SavedWhole> saved;
  for (const auto& unit : model.units()) {
    for (std::size_t i = 0; i < unit->size(); ++i) {
      const UnitParameter& one = unit->parameter(i);
      if (one.tensor.grad().defined())
        saved.push_back(of_unit(*unit, i, one.name, one.tensor.grad()));
    }
  }
  for (const UnitParameter& one : model.ignored()) {
    if (one.tensor.grad().defined()) saved.push_back(of_whole(one.name, one.tensor.grad()));
  }
  return saved;
}

std::vector<SavedMoment> whole_moments(Optimizer& optimizer, const ShardedModel& model) {
  std::vector<SavedMoment> saved;
  for (const auto& unit : model.units()) {
    for (std::size_t i = 0; i < unit->size(); ++i) {
      for (const torch::Tensor* moment : moments_for(optimizer, unit->parameter(i).tensor)) {
        if (!moment->defined()) continue;
        saved.push_back({moment, of_unit(*unit, i, "", *moment)});
      }
    }
  }
  return saved;
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
