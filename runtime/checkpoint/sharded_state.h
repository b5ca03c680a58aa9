// The state of sharded models and of their optimizers as a whole, for checkpoints of
// StateDictType::kFull, and back. Such a checkpoint is the same as one of an unsharded run
// (docs/decisions/0065).
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "runtime/checkpoint/snapshot.h"
#include "runtime/checkpoint/tensor_file.h"
#include "runtime/parallel/sharded_model.h"
#include "runtime/process/process_state.h"

namespace accel::runtime {

// Returns the strategy of a module that is sharded, or null.
std::shared_ptr<ShardedModel> find_sharded(ProcessState& process, const torch::nn::Module& module);

// Returns the moments of a parameter, of which some may be undefined; none if the optimizer has no
// state for it. Throws std::invalid_argument if the class of the state is unknown.
std::vector<torch::Tensor*> moments_for(torch::optim::Optimizer& optimizer,
                                        const torch::Tensor& parameter);

// Returns the gradients of all parameters that have one, as a whole. Collective: an all-gather for
// each unit.
NamedTensors whole_gradients(ShardedModel& model);

// Returns the moments of the optimizer for parameters of a model, as a whole, on rank 0; on the
// other ranks nothing. Collective: an all-gather for each unit and moment. Throws
// std::invalid_argument if the state has tensors that are unknown here.
WholeTensors whole_moments(torch::optim::Optimizer& optimizer, const ShardedModel& model,
                           bool is_main);

// Returns the elements of the flattened parameters that this rank holds, by the identities of the
// parameters. Those of ignored modules are not among them.
std::map<const void*, ElementRange> held_elements(const ShardedModel& model);

}  // namespace accel::runtime
