// Divides a model into units: sets of parameters that are gathered and freed together. Parameters
// of ignored modules are in no unit.
#pragma once

#include <string>
#include <vector>

#include "accel/options.h"
#include "runtime/parallel/libtorch.h"
#include "runtime/parallel/unit_layout.h"

namespace accel::runtime {

struct ModelUnit {
  // The name of the unit's module in the model, such as "layers.3". The root has the name
  // of its class.
  std::string name;
  int parent = -1;  // The index of the unit around this one; -1 for the root.
  bool reshard_after_forward = true;
  std::vector<UnitParameter> parameters;
};

struct DividedModel {
  std::vector<ModelUnit> units;        // The root first, and each after the unit around it.
  std::vector<UnitParameter> ignored;  // Parameters of ignored modules, in the order of the model.
};

// Divides a model as the options say (runtime/core/sharding/wrap_policy.h). Throws
// std::invalid_argument as plan_units() does, and for a parameter that cannot be sharded.
DividedModel divided(const torch::nn::Module& model, const ShardingOptions& options);

}  // namespace accel::runtime
