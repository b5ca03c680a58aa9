// The values that the parameters and buffers of a sharded model start with.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <set>
#include <vector>

#include "runtime/comm/communicator.h"
#include "runtime/parallel/sharded_unit.h"
#include "runtime/recording/recorded_tensors.h"

namespace accel::runtime {

std::vector<at::Tensor> tensors_of(const std::vector<UnitParameter>& parameters);

// Gives all ranks the values that rank 0 has, and memory for them. Returns the identities of the
// tensors of which it has none, because they were built without memory: they must be loaded.
// Collective.
std::set<const void*> give_values(const std::vector<at::Tensor>& tensors, Communicator& world);

// Does the same for tensors that are whole on each rank, and gives the others memory too.
std::set<const void*> give_whole_values(const std::vector<at::Tensor>& tensors,
                                        Communicator& world);

// Executes the initialisation of those tensors in `missing` that deferred_init() has recorded.
// Parameters of units keep this rank's piece. Removes them from `missing`. Collective.
void give_recorded_values(const RecordedTensors& recorded,
                          const std::vector<std::unique_ptr<ShardedUnit>>& units,
                          Communicator& world, std::set<const void*>* missing);

}  // namespace accel::runtime
