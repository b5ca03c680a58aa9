// The tensors in the state of LibTorch's optimizers: where they are, and what Python calls them.
// All else that a checkpoint does with optimizers is written in terms of these lists.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

namespace torch::optim {
class OptimizerParamState;
}

namespace accel::runtime {

// Returns the tensors in the state of one parameter, some of which may be undefined. Returns
// nullopt if the state is not of SGD, Adam, AdamW, Adagrad or RMSprop.
std::optional<std::vector<at::Tensor*>> moments_of(torch::optim::OptimizerParamState& state);

// Returns the same for a parameter of a sharded model. Throws std::invalid_argument instead
// of returning nullopt.
std::vector<at::Tensor*> known_moments_of(torch::optim::OptimizerParamState& state);

// Returns the names of these tensors, in Python's spelling.
std::vector<std::string> moment_names(const torch::optim::OptimizerParamState& state);

}  // namespace accel::runtime
