// Which of several models with parameters in common a backward pass is of.
#pragma once

#include <cstddef>
#include <unordered_set>
#include <vector>

namespace accel {

// Stands for one parameter.
using ParameterId = const void*;

// By index: whether another model has one of its parameters. `models`: the parameters of each
// model, each once.
std::vector<bool> sharing_models(const std::vector<std::vector<ParameterId>>& models);

// `reached`: the parameters that a pass reaches,
// among others. By index, in ascending order: the models of which it reaches a parameter that no
// other model has; and where that leaves parameters over, for each of them, of the models that have
// it, the one with the fewest parameters that are not reached, the first of several.
std::vector<std::size_t> reached_models(const std::vector<std::vector<ParameterId>>& models,
                                        const std::unordered_set<ParameterId>& reached);

}  // namespace accel
