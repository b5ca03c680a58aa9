#include "runtime/parallel/model_units.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "runtime/core/sharding/wrap_policy.h"
#include "runtime/parallel/libtorch.h"

namespace accel::runtime {
namespace {

// The numbers of tensors that have several names, as ModuleTree needs them.
using SharedIds = std::unordered_map<const void*, std::uint64_t>;

SharedIds shared_ids(const torch::nn::Module& model) {
  std::unordered_map<const void*, int> uses;
  for (const auto& item : model.named_parameters()) ++uses[item.value().unsafeGetTensorImpl()];
  SharedIds ids;
  for (const auto& [tensor, count] : uses) {
    if (count > 1) ids.emplace(tensor, ids.size() + 1);
  }
  return ids;
}

ModuleTree tree_of(const torch::nn::Module& module, const std::string& name, const SharedIds& ids) {
  ModuleTree tree{.name = name, .classes = class_names_of(module.name())};
  tree.kind = kind_of_class(tree.classes.front());
  for (const auto& item : module.named_parameters(/*recurse=*/false)) {
    const at::Tensor& tensor = item.value();
    const auto shared = ids.find(tensor.unsafeGetTensorImpl());
    tree.parameters.push_back({.name = item.key(),
                               .shape = tensor.sizes().vec(),
                               .dtype = c10::toString(tensor.scalar_type()),
                               .requires_grad = tensor.requires_grad(),
                               .shared_id = shared == ids.end() ? 0 : shared->second});
  }
  for (const auto& item : module.named_children()) {
    tree.children.push_back(tree_of(*item.value(), item.key(), ids));
  }
  return tree;
}

void expect_shardable(const std::string& name, const at::Tensor& parameter) {
  const bool is_plain = parameter.layout() == at::kStrided && !parameter.is_meta();
  if (is_plain && at::isFloatingType(parameter.scalar_type())) return;
  throw std::invalid_argument(
      "prepare: " + name +
      " cannot be sharded, because it is no dense tensor of floating point numbers in memory");
}

bool is_inside(const std::string& name, const std::string& module) {
  return module.empty() ||
         (name.starts_with(module) && name.size() > module.size() && name[module.size()] == '.');
}

// Returns the innermost unit around the first module of `unit`, which is the last one in the list.
int parent_of(const WrapUnit& unit, const std::vector<WrapUnit>& outer, std::size_t count) {
  int parent = static_cast<int>(count) - 1;
  while (parent > 0 && !is_inside(unit.name(), outer[static_cast<std::size_t>(parent)].name())) {
    --parent;
  }
  return parent;
}

}  // namespace

DividedModel divided(const torch::nn::Module& model, const ShardingOptions& options) {
  const WrapPlan plan = plan_units(tree_of(model, "", shared_ids(model)), options);
  const auto parameters = model.named_parameters();
  DividedModel result;
  std::vector<ModelUnit>& units = result.units;
  for (const WrapUnit& planned : plan.units) {
    ModelUnit unit{.name = units.empty() ? class_names_of(model.name()).front() : planned.name(),
                   .parent = parent_of(planned, plan.units, units.size()),
                   .reshard_after_forward = planned.reshard_after_forward,
                   .parameters = {}};
    for (const std::string& name : planned.parameters) {
      expect_shardable(name, parameters[name]);
      unit.parameters.push_back({name, parameters[name]});
    }
    units.push_back(std::move(unit));
  }
  std::unordered_set<const void*> known;
  for (const auto& item : parameters) {
    if (!std::ranges::binary_search(plan.unmanaged, item.key())) continue;
    if (!known.insert(item.value().unsafeGetTensorImpl()).second) continue;
    result.ignored.push_back({item.key(), item.value()});
  }
  return result;
}

}  // namespace accel::runtime
