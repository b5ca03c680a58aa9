// Makes the strategy of sharded training for a model.
#pragma once

#include <torch/nn/module.h>

#include <memory>

#include "accel/sharding.h"
#include "runtime/comm/communicator.h"
#include "runtime/parallel/strategy.h"
#include "runtime/recording/recorded_tensors.h"

namespace accel::runtime {

// Returns a strategy in which each rank holds a part of the model. `local_size` is the number of
// ranks on this host. `recorded` has those tensors of the model that deferred_init() has made.
// Collective with the hybrid strategies. Throws std::invalid_argument if their groups do not
// divide the ranks.
std::shared_ptr<ParallelStrategy> make_sharded(std::shared_ptr<torch::nn::Module> module,
                                               const std::shared_ptr<Communicator>& world,
                                               const ShardingOptions& options, int local_size,
                                               RecordedTensors recorded);

}  // namespace accel::runtime
