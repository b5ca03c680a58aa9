// The whole state of sharded models and of their optimizers, for checkpoints of
// StateDictType::kFull. It is saved and loaded so that such a checkpoint is the same as one of an
// unsharded run (docs/decisions/0065).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/checkpoint/tensor_file.h"
#include "runtime/parallel/sharded_model.h"
#include "runtime/process/process_state.h"

namespace accel::runtime {

// Returns the strategy of a module that is sharded, or null.
std::shared_ptr<ShardedModel> find_sharded(ProcessState& process, const torch::nn::Module& module);

// Returns the tensors in the optimizer's state of a parameter, such as exp_avg of Adam,
// momentum_buffer of SGD or sum of Adagrad. Some of them may be undefined. Returns no tensors if
// there is no state for the parameter. Throws std::invalid_argument unless the state is of SGD,
// Adam, AdamW, Adagrad or RMSprop.
std::vector<torch::Tensor*> moments_for(torch::optim::Optimizer& optimizer,
                                        const torch::Tensor& parameter);

// A tensor that is saved as a whole. It refers to its unit, and to the memory of `held`.
struct SavedWhole {
  std::string name;
  std::vector<std::int64_t> shape;    // The shape of the whole tensor.
  torch::Tensor held;                 // This rank's piece, or the tensor if it has no unit.
  const ShardedUnit* unit = nullptr;  // If null, each rank has the whole tensor.
  std::size_t place = 0;              // A parameter of this shape and its place in the unit.

  std::size_t nbytes() const;
  // Returns the whole tensor. Collective if there is a unit.
  torch::Tensor whole() const;
};

// Return the tensors that are saved of a model, the same on all ranks. They are the parameters and
// buffers, in the order and with the names of save_weights(), and the gradients of all parameters
// that have one.
std::vector<SavedWhole> whole_parameters(const ShardedModel& model);
std::vector<SavedWhole> whole_gradients(const ShardedModel& model);

// A moment of an optimizer for a parameter of a unit.
struct SavedMoment {
  const torch::Tensor* moment;  // In the state of the optimizer.
  SavedWhole saved;             // Without a name.
};
// Returns the defined moments that an optimizer has for the parameters of units. Throws what
// moments_for() throws.
std::vector<SavedMoment> whole_moments(torch::optim::Optimizer& optimizer,
                                       const ShardedModel& model);

// Returns the elements of the flattened parameters that this rank holds, by the identities of the
// parameters. Parameters of ignored modules are left out.
std::map<const void*, ElementRange> held_elements(const ShardedModel& model);

}  // namespace accel::runtime
