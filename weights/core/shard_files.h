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

// The keys in the header of a file. torch.distributed.checkpoint defines kShardingInfo and ignores
// kFullShape, which only accel writes. kFullShape shows that the file with the last part of a
// tensor is missing.
inline constexpr char kShardingInfo[] = "DCP_SHARDING_INFO";
inline constexpr char kSavedOffsets[] = "saved_offsets";
inline constexpr char kFullShape[] = "full_shape";

// Adds the tensors of one file to `saved`. The file must be the last in the list of `saved`, and
// `header` is its parsed header. Without sharding information, each tensor is whole. torch's files
// do not have the shape of a tensor, so it is the end of its last part. Throws CheckpointError,
// which names the file, if the information is malformed or contradicts the header.
void add_shard_file(const SafetensorsHeader& header, SavedTensors& saved);

}  // namespace accel::weights
