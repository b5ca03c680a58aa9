// Writes the weights of a sharded model as files of whole tensors.
#pragma once

#include <filesystem>

#include "runtime/core/weight_shards.h"
#include "runtime/parallel/sharded_model.h"
#include "runtime/process/process_state.h"

namespace accel::runtime {

// Writes the files that save_weights() would write for the whole model (weights.h), from rank 0. No
// rank holds more than one whole tensor at a time. Rank 0 throws as save_weights() does,
// and the others then throw CheckpointError with its text. All ranks throw std::invalid_argument
// for a dtype that the format lacks, and std::logic_error if the model has no values yet.
// Collective.
void save_sharded_weights(const ShardedModel& model, const ProcessState& process,
                          const std::filesystem::path& folder, ByteSize max_shard_size);

}  // namespace accel::runtime
