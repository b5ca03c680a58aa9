// Chooses the units of a sharded model: the sets of parameters that are gathered and freed
// together. Pure.
//
// The root is always a unit. The policy of the options chooses further modules as units. In version
// 2, the embeddings of ShardingOptions and the last norm become units as well. A unit owns the
// parameters of its modules that no inner unit owns. A parameter with several names belongs to the
// innermost unit that contains all of its uses, because it must be gathered for each of them.
// Ignored modules are no units, and their parameters are in none (docs/decisions/0061).
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
  // Names of its parameters. A parameter with several names has the first one in the model.
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
// parameters, in these cases. A listed class, an embedding or an ignored module does not exist in
// the model. No class is listed for kTransformerBased. Activations are checkpointed without a
// policy. The trainable parameters of a unit differ in dtype.
WrapPlan plan_units(const ModuleTree& model, const ShardingOptions& options);

}  // namespace accel::runtime
