// The files of a sharded checkpoint: safetensors, with the place of each part in the metadata of
// the header, as torch.distributed.checkpoint writes and reads them. Pure.
//
//   shard-00000-model-00001-of-00001.safetensors    the parts of rank 0
//   shard-00001-model-00001-of-00001.safetensors    the parts of rank 1
//
// A file holds one part of each tensor at most, because its header names parts by their tensor. A
// rank with several parts of one tensor writes several files (docs/decisions/0062).
#pragma once

#include "weights/core/safetensors.h"
#include "weights/core/saved_tensors.h"

namespace accel::weights {

// The keys of torch.distributed.checkpoint in the header of a file. It ignores kFullShape, which is
// ours: it shows that the file with the last part of a tensor is missing.
inline constexpr char kShardingInfo[] = "DCP_SHARDING_INFO";
inline constexpr char kSavedOffsets[] = "saved_offsets";
inline constexpr char kFullShape[] = "full_shape";

// Adds the tensors of one file to `saved`, whose list of files ends with it. `header` is the parsed
// header of that file. Without sharding information, each tensor is whole. In files of torch the
// shape of a tensor is the end of its last part, because they do not have it. Throws
// CheckpointError, which names the file, if the information is malformed or contradicts the header.
void add_shard_file(const SafetensorsHeader& header, SavedTensors& saved);

}  // namespace accel::weights
