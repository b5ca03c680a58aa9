// Chooses the units of a sharded model: the sets of parameters that are gathered and freed
// together. Pure.
//
// The root always is a unit. Further ones come from the policy of the options. A unit owns the
// parameters of its modules that no inner unit owns. A parameter with several names belongs to the
// lowest unit that contains all of its uses, because it must be gathered for each of them
// (docs/decisions/0061).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "accel/sharding.h"
#include "runtime/core/sharding/wrap_tree.h"

namespace accel::runtime {

struct WrapUnit {
  // Names of its modules: one, or several that are gathered together. "" is the root.
  std::vector<std::string> modules;
  // Names of its parameters; of a parameter with several names, the first one in the model.
  std::vector<std::string> parameters;
  std::int64_t elements = 0;   // The elements of all parameters.
  bool requires_grad = false;  // False if every parameter is frozen.
  // If true, its parameters are freed after forward and gathered again in backward.
  bool reshard_after_forward = false;

  const std::string& name() const { return modules.front(); }
};

struct WrapPlan {
  // Outer units before inner ones, the root first. Units other than the root have parameters.
  std::vector<WrapUnit> units;
  // For each parameter with several names: its first name, then the others.
  std::vector<std::vector<std::string>> shared;
  // All names of parameters of ignored modules, sorted. They are not sharded.
  std::vector<std::string> unmanaged;
  // Modules whose activations are computed again in backward, sorted.
  std::vector<std::string> checkpointed;
};

// Chooses the units of a model. Throws std::invalid_argument, which names the option or the
// parameters, if a listed class or an embedding does not exist in the model, if activations
// are checkpointed without a policy, if no module is one of the ignored ones, or if the trainable
// parameters of a unit differ in dtype.
WrapPlan plan_units(const ModuleTree& model, const ShardingOptions& options);

}  // namespace accel::runtime
