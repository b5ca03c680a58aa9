#include "runtime/core/sharding/wrap_policy.h"

#include <algorithm>
#include <limits>
#include <regex>
#include <set>
#include <stdexcept>

#include "runtime/core/sharding/named_value.h"

namespace accel::runtime {
namespace {

constexpr std::size_t kNoUnit = std::numeric_limits<std::size_t>::max();

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what); }

std::string listed(const std::vector<std::string_view>& names) {
  constexpr std::size_t kMost = 20;
  std::string list;
  for (std::size_t i = 0; i < names.size() && i < kMost; ++i) {
    list += (i > 0 ? ", " : "") + std::string(names[i]);
  }
  return names.empty() ? "none" : list + (names.size() > kMost ? " and others" : "");
}

class Planner {
 public:
  Planner(const ModuleTree& model, const ShardingOptions& options)
      : flat_(model), options_(options), unit_of_(flat_.modules.size(), kNoUnit) {}

  WrapPlan plan() {
    find_ignored();
    if (options_.auto_wrap_policy == WrapPolicy::kTransformerBased) {
      choose_by_class();
    } else if (options_.auto_wrap_policy == WrapPolicy::kSizeBased && options_.min_num_params > 0) {
      choose_by_size();
    }
    list_checkpointed();
    // Backward begins with the root, so forward does not free its parameters.
    add_unit({0}, /*reshard=*/false);
    for (std::size_t i = 1; i < flat_.modules.size(); ++i) {
      if (chosen_.contains(i)) add_unit({i}, options_.frees_after_forward());
    }
    if (options_.version == 2) add_embeddings();
    assign_parameters();
    check_dtypes();
    return finish();
  }

 private:
  struct Unit {
    std::vector<std::size_t> modules;
    bool reshard;
    std::vector<std::size_t> parameters;  // Positions of the first names.
  };

  void find_ignored() {
    ignored_.assign(flat_.modules.size(), false);
    ignored_tensors_.assign(flat_.tensors, false);
    if (options_.ignored_modules.empty()) return;
    const std::regex pattern(options_.ignored_modules);
    std::vector<std::string_view> names;
    bool exists = false;
    for (std::size_t i = 0; i < flat_.modules.size(); ++i) {
      const FlatModule& module = flat_.modules[i];
      ignored_[i] = ignored_[module.parent] || std::regex_match(module.name, pattern);
      exists = exists || ignored_[i];
      if (i > 0) names.push_back(module.name);
    }
    if (!exists) {
      refuse("ignored_modules is " + in_quotes(options_.ignored_modules) +
             ", and matches the whole name of no module of the model: it has " + listed(names));
    }
    for (const FlatParameter& parameter : flat_.parameters) {
      if (ignored_[parameter.module]) ignored_tensors_[parameter.tensor] = true;
    }
  }

  bool is_of_class(const FlatModule& module, const std::string& name) const {
    const auto& classes = module.tree->classes;
    return std::find(classes.begin(), classes.end(), name) != classes.end();
  }

  [[noreturn]] void refuse_class(const std::string& name) const {
    std::set<std::string_view> known;
    for (const FlatModule& module : flat_.modules) known.insert(module.tree->classes.front());
    const std::vector<std::string_view> names(known.begin(), known.end());
    refuse("transformer_layer_cls_to_wrap has " + in_quotes(name) +
           ", and the model has no module of that class: it has " + listed(names) +
           suggestion(name, names));
  }

  void choose_by_class() {
    if (options_.transformer_layer_cls_to_wrap.empty()) {
      refuse(
          "TRANSFORMER_BASED_WRAP needs transformer_layer_cls_to_wrap, the class names of the "
          "layers, such as BertLayer");
    }
    for (const std::string& name : options_.transformer_layer_cls_to_wrap) {
      bool exists = false;
      for (std::size_t i = 0; i < flat_.modules.size(); ++i) {
        if (!is_of_class(flat_.modules[i], name)) continue;
        exists = true;
        if (i > 0 && !ignored_[i]) chosen_.insert(i);
      }
      if (!exists) refuse_class(name);
    }
  }

  // Returns the elements of the different parameters below a module.
  std::int64_t elements_below(std::size_t module) const {
    std::set<std::size_t> seen;
    std::int64_t elements = 0;
    const std::size_t end = flat_.parameters_begin[flat_.modules[module].end];
    for (std::size_t i = flat_.parameters_begin[module]; i < end; ++i) {
      const FlatParameter& parameter = flat_.parameters[i];
      if (ignored_tensors_[parameter.tensor] || !seen.insert(parameter.tensor).second) continue;
      elements += elements_of(parameter.tree->shape);
    }
    return elements;
  }

  void choose_by_size() {
    if (options_.version == 1) {
      choose_by_remainder(0);
      return;
    }
    for (std::size_t i = 1; i < flat_.modules.size(); ++i) {
      if (flat_.modules[i].tree->kind == ModuleKind::kContainer || ignored_[i]) continue;
      if (elements_below(i) > options_.min_num_params) chosen_.insert(i);
    }
  }

  // Applies the rule of version 1, in which parameters that inner units own do not count. Returns
  // the elements that the units at and below `module` own.
  std::int64_t choose_by_remainder(std::size_t module) {
    const std::int64_t elements = elements_below(module);
    const ModuleKind kind = flat_.modules[module].tree->kind;
    if (elements < options_.min_num_params || kind == ModuleKind::kWhole) return 0;
    std::int64_t wrapped = 0;
    for (std::size_t i = module + 1; i < flat_.modules[module].end; i = flat_.modules[i].end) {
      if (!ignored_[i]) wrapped += choose_by_remainder(i);
    }
    const bool may_wrap = module > 0 && kind != ModuleKind::kContainer;
    if (!may_wrap || elements - wrapped < options_.min_num_params) return wrapped;
    chosen_.insert(module);
    return elements;
  }

  void list_checkpointed() {
    if (!options_.activation_checkpointing) return;
    if (options_.auto_wrap_policy == WrapPolicy::kNoWrap) {
      refuse(
          "activation_checkpointing needs an auto_wrap_policy, because it computes the activations "
          "of wrapped modules again; or call accel::checkpoint() in the model");
    }
    for (const std::size_t module : chosen_) {
      plan_.checkpointed.push_back(flat_.modules[module].name);
    }
    std::sort(plan_.checkpointed.begin(), plan_.checkpointed.end());
  }

  void add_unit(std::vector<std::size_t> modules, bool reshard) {
    for (const std::size_t module : modules) unit_of_[module] = units_.size();
    units_.push_back({.modules = std::move(modules), .reshard = reshard, .parameters = {}});
  }

  std::size_t module_named(const std::string& name, const char* option) const {
    for (std::size_t i = 0; i < flat_.modules.size(); ++i) {
      if (flat_.modules[i].name == name) return i;
    }
    refuse("sharding.embeddings." + std::string(option) + " is " + in_quotes(name) +
           ", and the model has no module of that name");
  }

  bool are_tied(std::size_t left, std::size_t right) const {
    for (std::size_t i = flat_.parameters_begin[left]; i < flat_.parameters_begin[left + 1]; ++i) {
      for (std::size_t j = flat_.parameters_begin[right]; j < flat_.parameters_begin[right + 1];
           ++j) {
        if (flat_.parameters[i].tensor == flat_.parameters[j].tensor) return true;
      }
    }
    return false;
  }

  // Returns the last direct child of `base` whose class is a norm, or 0 if there is none.
  std::size_t last_norm(std::size_t base) const {
    std::size_t norm = 0;
    for (std::size_t i = base + 1; i < flat_.modules[base].end; i = flat_.modules[i].end) {
      if (flat_.modules[i].tree->classes.front().find("Norm") != std::string::npos) norm = i;
    }
    return norm;
  }

  void add_embeddings() {
    const EmbeddingModules& names = options_.embeddings;
    const std::size_t input = names.input.empty() ? 0 : module_named(names.input, "input");
    const std::size_t output = names.output.empty() ? 0 : module_named(names.output, "output");
    const bool tied = input != 0 && output != 0 && are_tied(input, output);
    if (input != 0 && !tied && unit_of_[input] == kNoUnit) {
      add_unit({input}, options_.frees_after_forward());
    }
    std::vector<std::size_t> tail = {last_norm(module_named(names.base, "base"))};
    if (tied) tail.push_back(input);
    tail.push_back(output);
    std::erase_if(tail, [&](std::size_t i) { return i == 0 || unit_of_[i] != kNoUnit; });
    // The end of forward is the start of backward, so these parameters are not freed in between.
    if (!tail.empty()) add_unit(tail, /*reshard=*/false);
  }

  // Returns the units around a module, from the root inwards.
  std::vector<std::size_t> units_around(std::size_t module) const {
    std::vector<std::size_t> units;
    for (std::size_t i = module;; i = flat_.modules[i].parent) {
      if (unit_of_[i] != kNoUnit) units.push_back(unit_of_[i]);
      if (i == 0) break;
    }
    std::reverse(units.begin(), units.end());
    return units;
  }

  void assign_parameters() {
    // For each tensor, the units around all of its uses.
    std::vector<std::vector<std::size_t>> around(flat_.tensors);
    for (const FlatParameter& parameter : flat_.parameters) {
      std::vector<std::size_t>& common = around[parameter.tensor];
      std::vector<std::size_t> units = units_around(parameter.module);
      if (common.empty()) {
        common = std::move(units);
        continue;
      }
      const auto [end, unused] =
          std::mismatch(common.begin(), common.end(), units.begin(), units.end());
      common.erase(end, common.end());
    }
    first_name_.assign(flat_.tensors, kNoUnit);
    for (std::size_t i = 0; i < flat_.parameters.size(); ++i) {
      std::size_t& first = first_name_[flat_.parameters[i].tensor];
      if (first == kNoUnit) first = i;
    }
    std::vector<bool> done = ignored_tensors_;
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      for (const std::size_t module : units_[unit].modules) {
        append_parameters(module, unit, around, done);
      }
    }
  }

  // Appends those parameters of `unit` that belong to `module` or to a module below it. In version
  // 1 of FSDP (ShardingOptions::version), a module's own parameters come before those of its
  // children, and in version 2 after them.
  void append_parameters(std::size_t module, std::size_t unit,
                         const std::vector<std::vector<std::size_t>>& around,
                         std::vector<bool>& done) {
    const auto append_own = [&] {
      for (std::size_t i = flat_.parameters_begin[module]; i < flat_.parameters_begin[module + 1];
           ++i) {
        const std::size_t tensor = flat_.parameters[i].tensor;
        if (done[tensor] || around[tensor].back() != unit) continue;
        done[tensor] = true;
        units_[unit].parameters.push_back(first_name_[tensor]);
      }
    };
    if (options_.version == 1) append_own();
    for (std::size_t i = module + 1; i < flat_.modules[module].end; i = flat_.modules[i].end) {
      append_parameters(i, unit, around, done);
    }
    if (options_.version == 2) append_own();
  }

  // Refuses a unit whose trainable parameters differ in dtype, as FSDP does.
  void check_dtypes() const {
    for (const Unit& unit : units_) {
      const FlatParameter* first = nullptr;
      for (const std::size_t i : unit.parameters) {
        const FlatParameter& parameter = flat_.parameters[i];
        if (!parameter.tree->requires_grad) continue;
        if (first == nullptr) first = &parameter;
        if (parameter.tree->dtype == first->tree->dtype) continue;
        refuse("the unit " + in_quotes(flat_.modules[unit.modules.front()].name) + " has " +
               first->name + " in " + first->tree->dtype + " and " + parameter.name + " in " +
               parameter.tree->dtype +
               ": convert one of them, or wrap their modules as different units");
      }
    }
  }

  WrapPlan finish() {
    // A unit of several modules has the place of its first module.
    std::sort(units_.begin(), units_.end(), [](const Unit& left, const Unit& right) {
      return *std::min_element(left.modules.begin(), left.modules.end()) <
             *std::min_element(right.modules.begin(), right.modules.end());
    });
    for (const Unit& unit : units_) {
      if (unit.parameters.empty() && unit.modules.front() != 0) continue;
      WrapUnit& to = plan_.units.emplace_back();
      to.reshard_after_forward = unit.reshard;
      for (const std::size_t module : unit.modules)
        to.modules.push_back(flat_.modules[module].name);
      for (const std::size_t i : unit.parameters) {
        const FlatParameter& parameter = flat_.parameters[i];
        to.parameters.push_back(parameter.name);
        to.elements += elements_of(parameter.tree->shape);
        to.requires_grad |= parameter.tree->requires_grad;
      }
    }
    list_names();
    return std::move(plan_);
  }

  void list_names() {
    std::vector<std::vector<std::string>> names(flat_.tensors);
    for (const FlatParameter& parameter : flat_.parameters) {
      names[parameter.tensor].push_back(parameter.name);
      if (ignored_tensors_[parameter.tensor]) plan_.unmanaged.push_back(parameter.name);
    }
    std::sort(plan_.unmanaged.begin(), plan_.unmanaged.end());
    for (auto& list : names) {
      if (list.size() > 1) plan_.shared.push_back(std::move(list));
    }
    std::sort(plan_.shared.begin(), plan_.shared.end());
  }

  const FlatTree flat_;
  const ShardingOptions& options_;
  std::vector<std::size_t> unit_of_;   // For each module, the unit that it is, or kNoUnit.
  std::vector<bool> ignored_;          // For each module.
  std::vector<bool> ignored_tensors_;  // For each tensor.
  std::set<std::size_t> chosen_;       // The modules that the policy chooses.
  std::vector<Unit> units_;
  std::vector<std::size_t> first_name_;  // For each tensor, the position of its first name.
  WrapPlan plan_;
};

}  // namespace

WrapPlan plan_units(const ModuleTree& model, const ShardingOptions& options) {
  return Planner(model, options).plan();
}

}  // namespace accel::runtime
