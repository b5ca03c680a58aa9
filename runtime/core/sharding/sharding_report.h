// The text of accelerator.print_sharding(): the units of a sharded model, and the memory that each
// rank needs for it, before the first step. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "accel/sharding.h"

namespace accel::runtime {

struct ReportedUnit {
  std::string name;                     // The name of its first module; empty for the root.
  std::int64_t elements = 0;            // The size of all parameters.
  std::int64_t trainable_elements = 0;  // The size of those with gradients.
  std::int64_t bytes = 0;               // The size of its buffers, a multiple of the ranks.
  std::int64_t trainable_bytes = 0;     // The size of the buffers that have gradients.
  std::int64_t copied_bytes = 0;        // The size of the bf16 copies while it is being gathered.
  bool reshard_after_forward = false;
};

struct ShardingOutline {
  // In the order of the model's modules; outer before inner. The sums take this for the order of
  // the forward pass.
  std::vector<ReportedUnit> units;
  ShardingStrategy strategy = ShardingStrategy::kFullShard;
  int shard_ranks = 1;  // Ranks that share one copy of the model.
  int replicas = 1;
  ReportedUnit ignored;    // The parameters of ignored modules, which are whole on each rank.
  bool prefetches = true;  // If true, the next unit is gathered while one is in use.
  bool offloads = false;   // If true, shards are in the CPU's memory.
};

// Bytes on each rank.
struct ShardingBytes {
  std::int64_t parameters = 0;  // Shards.
  std::int64_t gradients = 0;   // Shards of gradients, between backward and the optimizer's step.
  std::int64_t gathered = 0;    // Gathered parameters and bf16 copies at the worst moment.
  std::int64_t reduced = 0;     // Whole gradients at the worst moment, until they are reduced.
};

ShardingBytes sharding_bytes(const ShardingOutline& outline);

// Returns the lines that describe the sharding, without a newline at the end. Units that follow
// each other, are alike and differ only in a number of their names are one line.
std::string sharding_text(const ShardingOutline& outline);

}  // namespace accel::runtime
