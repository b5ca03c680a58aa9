// Decides which of several prepared models a backward pass belongs to if they share parameters, as
// two networks on one trunk do (docs/decisions/0025).
#pragma once

#include <cstddef>
#include <unordered_set>
#include <vector>

namespace accel::runtime {

// Identifies one parameter.
using ParameterId = const void*;

// Returns, for each model, true if it shares a parameter with another model. `models` has the
// parameters of each model, without repetition.
std::vector<bool> sharing_models(const std::vector<std::vector<ParameterId>>& models);

// Returns the indices, ascending, of the models whose gradients the pass reduces. `reached` has the
// parameters that the loss depends on, and possibly other objects. A model is chosen if the loss
// reaches a parameter of it that no other model has. For each reached parameter that is then in no
// chosen model, one more model is chosen. Among the models that have the parameter, it is the one
// with the fewest unreached parameters; among equals, the first.
std::vector<std::size_t> reached_models(const std::vector<std::vector<ParameterId>>& models,
                                        const std::unordered_set<ParameterId>& reached);

}  // namespace accel::runtime
