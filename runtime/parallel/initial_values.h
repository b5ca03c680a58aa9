// The values that the parameters and buffers of a sharded model start with.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "runtime/comm/communicator.h"
#include "runtime/parallel/libtorch.h"
#include "runtime/parallel/sharded_unit.h"
#include "runtime/parallel/unit_layout.h"
#include "runtime/recording/recorded_tensors.h"

namespace accel::runtime {

std::vector<at::Tensor> tensors_of(const std::vector<UnitParameter>& parameters);

// Gives all ranks the values that rank 0 has, and memory for them. Returns the identities of the
// tensors that have no values on rank 0, because they were built without memory. These must be
// loaded later. Collective.
std::set<const void*> give_values(const std::vector<at::Tensor>& tensors, Communicator& world);

// Does the same for tensors that are whole on each rank, and also gives memory to
// tensors without values.
std::set<const void*> give_whole_values(const std::vector<at::Tensor>& tensors,
                                        Communicator& world);

// Gives those of the `missing` tensors that deferred_init() has made the values of their
// constructors, and removes them from the set. A parameter of a unit gets this rank's piece. Other
// tensors must have memory. Collective, with the errors of RecordedTensors::give().
void give_recorded_values(RecordedTensors recorded, std::set<const void*>& missing,
                          const std::vector<std::unique_ptr<ShardedUnit>>& units,
                          Communicator& world);

}  // namespace accel::runtime
