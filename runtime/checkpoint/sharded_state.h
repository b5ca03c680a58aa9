// The state of sharded models and of their optimizers as a whole, for checkpoints of
// StateDictType::kFull, and back. Such a checkpoint is the same as one of an unsharded run
// (docs/decisions/0065).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
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

// A tensor that is saved as a whole. Refers to its unit, and to the memory of `held`.
struct SavedWhole {
  std::string name;
  std::vector<std::int64_t> shape;    // The whole tensor's.
  torch::Tensor held;                 // This rank's piece, or the tensor if it has no unit.
  const ShardedUnit* unit = nullptr;  // If null, each rank has the whole tensor.
  std::size_t place = 0;              // The place in the unit of a parameter of this shape.

  std::size_t nbytes() const;
  // Returns the whole tensor. Collective if there is a unit.
  torch::Tensor whole() const;
};

// Return what is saved of a model, the same on all ranks: its parameters and buffers, in the order
// and with the names of save_weights(), and the gradients of all parameters that have one.
std::vector<SavedWhole> whole_parameters(const ShardedModel& model);
std::vector<SavedWhole> whole_gradients(const ShardedModel& model);

// Returns the moments that an optimizer has for the parameters of units, without names. Throws
// std::invalid_argument if the state has tensors that are unknown here.
struct SavedMoment {
  const torch::Tensor* moment;  // In the state of the optimizer.
  SavedWhole saved;
};
std::vector<SavedMoment> whole_moments(torch::optim::Optimizer& optimizer,
                                       const ShardedModel& model);

// Returns the elements of the flattened parameters that this rank holds, by the identities of the
// parameters. Those of ignored modules are not among them.
std::map<const void*, ElementRange> held_elements(const ShardedModel& model);

}  // namespace accel::runtime
