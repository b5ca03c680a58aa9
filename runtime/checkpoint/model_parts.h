// The parts of a model that this rank holds. It saves them in a sharded checkpoint, and loads them
// from any checkpoint (docs/decisions/0072).
#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/checkpoint/parts_load.h"
#include "runtime/checkpoint/snapshot.h"
#include "runtime/parallel/sharded_model.h"

namespace accel::runtime {

// Returns true if each rank saves its own parts of the model; false for null.
bool saves_parts(const ShardedModel* model);

// Returns the name of a parameter's moment in a sharded checkpoint.
std::string moment_name(const std::string& parameter, const std::string& moment);

// Return the parts that this rank saves: its pieces of parameters, of their gradients and of an
// optimizer's moments for them. The first rank also saves buffers, and what belongs to ignored
// parameters. The moments of ignored parameters are not parts for an optimizer without
// has_known_state(), because its archive has them. If there are several replicas, the first one
// saves. Moments are called "state.<parameter>.<moment>". Throw std::invalid_argument for a
// dtype that safetensors lacks, and for an optimizer that has an unknown state of a parameter
// that is not ignored.
std::vector<TensorPart> parameter_parts(const ShardedModel& model);
std::vector<TensorPart> gradient_parts(const ShardedModel& model);
std::vector<TensorPart> moment_parts(const ShardedModel& model, torch::optim::Optimizer& optimizer);

// Adds the moments that are saved as parts to `moments`, so that the archive of the optimizer
// leaves them out.
void leave_out_moments(const ShardedModel& model, torch::optim::Optimizer& optimizer,
                       LeftOut& moments);

// Returns where this rank loads the parameters and buffers of a module. If `model` is not null, the
// module is sharded, and its units must be free.
std::vector<PartTarget> state_targets(const torch::nn::Module& module, const ShardedModel* model);
// Returns the same for the gradients that `saved` has. Gives each parameter with a saved gradient
// an empty gradient, and clears the gradients of all others.
std::vector<PartTarget> gradient_targets(const torch::nn::Module& module, const ShardedModel* model,
                                         const weights::SavedTensors& saved);
// Returns the same for the moments that `saved` has, of parameters that have a state in the
// optimizer. Leaves out the moments of whole parameters for an optimizer without has_known_state().
std::vector<PartTarget> moment_targets(const torch::nn::Module& module, const ShardedModel* model,
                                       torch::optim::Optimizer& optimizer,
                                       const weights::SavedTensors& saved);

}  // namespace accel::runtime
