#include "runtime/checkpoint/model_parts.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <stdexcept>
#include <utility>

#include "runtime/checkpoint/optimizer_moments.h"
#include "runtime/checkpoint/sharded_state.h"
#include "runtime/optim/optimizer_class.h"

namespace accel::runtime {
namespace {

using torch::optim::Optimizer;

constexpr char kMomentPrefix[] = "state.";

bool is_first_replica(const ShardedModel& model) {
  return model.groups().replicate == nullptr || model.groups().replicate->rank() == 0;
}

// Returns true if this rank saves what is whole on each rank.
bool saves_wholes(const ShardedModel& model) {
  return is_first_replica(model) && model.groups().part() == 0;
}

// Adds this rank's piece of a tensor of the shape of parameter i, box by box. A tensor without
// elements is saved by the first rank.
void add_piece(const ShardedModel& model, const ShardedUnit& unit, std::size_t i,
               const std::string& name, const torch::Tensor& piece, std::vector<TensorPart>& to) {
  const weights::Shape shape = unit.parameter(i).tensor.sizes().vec();
  const weights::SafetensorsDtype dtype = dtype_of(name, piece);
  const ElementRange held = unit.held(i);
  auto boxes = weights::boxes_of_range(shape, static_cast<std::uint64_t>(held.begin),
                                       static_cast<std::uint64_t>(held.end));
  if (weights::elements(weights::whole(shape)) == 0 && model.groups().part() == 0) {
    boxes = {weights::whole(shape)};
  }
  const torch::Tensor flat = piece.detach().reshape({-1});
  std::int64_t begin = 0;
  for (weights::Box& box : boxes) {
    const auto size = static_cast<std::int64_t>(weights::elements(box));
    to.push_back({.piece = {.name = name, .dtype = dtype, .shape = shape, .box = std::move(box)},
                  .values = flat.narrow(0, begin, size)});
    begin += size;
  }
}

// Adds a whole tensor, which one rank saves.
void add_whole_part(const std::string& name, const torch::Tensor& tensor,
                    std::vector<TensorPart>& to) {
  const weights::Shape shape = tensor.sizes().vec();
  to.push_back({.piece = {.name = name,
                          .dtype = dtype_of(name, tensor),
                          .shape = shape,
                          .box = weights::whole(shape)},
                .values = tensor.detach()});
}

// Returns true if the moments of parameters that are whole on each rank are parts too. An optimizer
// class of the program writes its archive itself, with these moments. Nothing can be left out of
// that archive, and the state may have more than moments.
bool has_whole_moments_in_parts(const Optimizer& optimizer) { return has_known_state(optimizer); }

// Calls `body` with each parameter's unit and place in it.
void each_parameter(const ShardedModel& model,
                    const std::function<void(const ShardedUnit&, std::size_t)>& body) {
  for (const auto& unit : model.units()) {
    for (std::size_t i = 0; i < unit->size(); ++i) body(*unit, i);
  }
}

// Returns the defined moments of a parameter, by the names that they are saved under. Throws on all
// ranks for an optimizer whose state is unknown.
NamedTensors named_moments(Optimizer& optimizer, const UnitParameter& parameter) {
  NamedTensors named;
  const auto moments = moments_for(optimizer, parameter.tensor);
  if (moments.empty()) return named;
  const auto names = moment_names(*optimizer.state().at(parameter.tensor.unsafeGetTensorImpl()));
  for (std::size_t k = 0; k < moments.size(); ++k) {
    if (!moments[k]->defined()) continue;
    named.emplace_back(moment_name(parameter.name, names[k]), *moments[k]);
  }
  return named;
}

// A parameter of a module with all of its names. It is not detached, because any operator on a
// sharded parameter gathers it.
struct NamedParameter {
  std::vector<std::string> names;
  torch::Tensor tensor;
  ElementRange held;
  torch::Tensor piece;  // Undefined if this rank holds the whole parameter.

  weights::Shape shape() const { return tensor.sizes().vec(); }
  // Returns memory for what this rank holds of a tensor of this shape.
  torch::Tensor empty() const {
    const auto options = tensor.options().requires_grad(false);
    return piece.defined() ? torch::empty({held.size()}, options)
                           : torch::empty(tensor.sizes(), options);
  }
};

std::vector<NamedParameter> parameters_of(const torch::nn::Module& module,
                                          const ShardedModel* model) {
  std::vector<NamedParameter> parameters;
  std::map<const void*, std::size_t> places;
  for (const auto& item : module.named_parameters()) {
    const torch::Tensor& tensor = item.value();
    if (!tensor.defined()) continue;
    const auto [place, is_new] = places.emplace(tensor.unsafeGetTensorImpl(), parameters.size());
    if (is_new) parameters.push_back({{}, tensor, {.begin = 0, .end = tensor.numel()}, {}});
    parameters[place->second].names.push_back(item.key());
  }
  if (model == nullptr) return parameters;
  each_parameter(*model, [&](const ShardedUnit& unit, std::size_t i) {
    const auto found = places.find(unit.parameter(i).tensor.unsafeGetTensorImpl());
    if (found == places.end()) return;
    parameters[found->second].held = unit.held(i);
    parameters[found->second].piece = unit.piece(i);
  });
  return parameters;
}

void add_whole(const std::string& name, const torch::Tensor& tensor,
               std::vector<PartTarget>& targets) {
  for (PartTarget& other : targets) {
    if (other.memory.is_same(tensor)) return other.names.push_back(name);
  }
  targets.push_back({{name}, tensor.sizes().vec(), {.begin = 0, .end = tensor.numel()}, tensor});
}

}  // namespace

std::string moment_name(const std::string& parameter, const std::string& moment) {
  return kMomentPrefix + parameter + "." + moment;
}

bool saves_parts(const ShardedModel* model) {
  return model != nullptr && model->options().state_dict_type == StateDictType::kSharded;
}

std::vector<TensorPart> parameter_parts(const ShardedModel& model) {
  std::vector<TensorPart> parts;
  if (!is_first_replica(model)) return parts;
  each_parameter(model, [&](const ShardedUnit& unit, std::size_t i) {
    add_piece(model, unit, i, unit.parameter(i).name, unit.piece(i), parts);
  });
  if (!saves_wholes(model)) return parts;
  for (const UnitParameter& one : model.ignored()) add_whole_part(one.name, one.tensor, parts);
  NamedTensors buffers;
  for (const auto& item : model.module()->named_buffers()) {
    if (item.value().defined()) buffers.emplace_back(item.key(), item.value().detach());
  }
  for (const auto& [name, buffer] : without_tied(buffers)) add_whole_part(name, buffer, parts);
  return parts;
}

std::vector<TensorPart> gradient_parts(const ShardedModel& model) {
  std::vector<TensorPart> parts;
  if (!is_first_replica(model)) return parts;
  each_parameter(model, [&](const ShardedUnit& unit, std::size_t i) {
    const torch::Tensor& gradient = unit.parameter(i).tensor.grad();
    if (gradient.defined()) add_piece(model, unit, i, unit.parameter(i).name, gradient, parts);
  });
  if (!saves_wholes(model)) return parts;
  for (const UnitParameter& one : model.ignored()) {
    if (one.tensor.grad().defined()) add_whole_part(one.name, one.tensor.grad(), parts);
  }
  return parts;
}

std::vector<TensorPart> moment_parts(const ShardedModel& model, Optimizer& optimizer) {
  std::vector<TensorPart> parts;
  each_parameter(model, [&](const ShardedUnit& unit, std::size_t i) {
    const auto moments = named_moments(optimizer, unit.parameter(i));
    if (!is_first_replica(model)) return;
    for (const auto& [name, moment] : moments) add_piece(model, unit, i, name, moment, parts);
  });
  if (!has_whole_moments_in_parts(optimizer) || !saves_wholes(model)) return parts;
  for (const UnitParameter& one : model.ignored()) {
    for (const auto& [name, moment] : named_moments(optimizer, one)) {
      add_whole_part(name, moment, parts);
    }
  }
  return parts;
}

void leave_out_moments(const ShardedModel& model, Optimizer& optimizer, LeftOut& moments) {
  const auto leave_out = [&](const torch::Tensor& parameter) {
    for (torch::Tensor* moment : moments_for(optimizer, parameter)) {
      if (moment->defined()) moments.insert(moment);
    }
  };
  each_parameter(
      model, [&](const ShardedUnit& unit, std::size_t i) { leave_out(unit.parameter(i).tensor); });
  if (!has_whole_moments_in_parts(optimizer)) return;
  for (const UnitParameter& one : model.ignored()) leave_out(one.tensor);
}

std::vector<PartTarget> state_targets(const torch::nn::Module& module, const ShardedModel* model) {
  std::vector<PartTarget> targets;
  for (const NamedParameter& one : parameters_of(module, model)) {
    targets.push_back({one.names, one.shape(), one.held,
                       one.piece.defined() ? one.piece : one.tensor.detach(),
                       /*is_required=*/model != nullptr && !model->has_value(one.tensor)});
  }
  std::vector<PartTarget> buffers;
  for (const auto& item : module.named_buffers()) {
    if (item.value().defined()) add_whole(item.key(), item.value(), buffers);
  }
  for (PartTarget& buffer : buffers) {
    buffer.is_required = model != nullptr && !model->has_value(buffer.memory);
  }
  std::ranges::move(buffers, std::back_inserter(targets));
  return targets;
}

std::vector<PartTarget> gradient_targets(const torch::nn::Module& module, const ShardedModel* model,
                                         const weights::SavedTensors& saved) {
  std::vector<PartTarget> targets;
  for (const NamedParameter& one : parameters_of(module, model)) {
    const bool is_saved = std::ranges::any_of(
        one.names, [&](const std::string& name) { return saved.tensors.contains(name); });
    torch::Tensor& gradient = one.tensor.mutable_grad();
    gradient = is_saved ? one.empty() : torch::Tensor();
    if (is_saved) targets.push_back({one.names, one.shape(), one.held, gradient});
  }
  return targets;
}

std::vector<PartTarget> moment_targets(const torch::nn::Module& module, const ShardedModel* model,
                                       Optimizer& optimizer, const weights::SavedTensors& saved) {
  std::vector<PartTarget> targets;
  for (const NamedParameter& one : parameters_of(module, model)) {
    if (!one.piece.defined() && !has_whole_moments_in_parts(optimizer)) continue;
    const auto moments = moments_for(optimizer, one.tensor);
    if (moments.empty()) continue;
    const auto names = moment_names(*optimizer.state().at(one.tensor.unsafeGetTensorImpl()));
    for (std::size_t k = 0; k < moments.size(); ++k) {
      std::vector<std::string> saved_names;
      for (const std::string& name : one.names) {
        const std::string full = moment_name(name, names[k]);
        if (saved.tensors.contains(full)) saved_names.push_back(full);
      }
      if (saved_names.empty()) continue;
      *moments[k] = one.empty();
      targets.push_back({std::move(saved_names), one.shape(), one.held, *moments[k]});
    }
  }
  return targets;
}

}  // namespace accel::runtime
