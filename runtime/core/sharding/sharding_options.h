// Reads ShardingOptions from the variables that `accel launch --use_fsdp` and Accelerate's launcher
// export, and checks them. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "accel/sharding.h"
#include "runtime/core/environment.h"

namespace accel::runtime {

struct ShardingSettings {
  ShardingOptions options;
  // A sentence for each variable that has no effect. Rank 0 logs them for each Accelerator.
  std::vector<std::string> notes;
};

// Returns the launcher's options, or nullopt if ACCELERATE_USE_FSDP is not true. A variable that is
// empty or not set has the default of Accelerate's plugin. Throws std::invalid_argument if a value
// is malformed, out of range, or contradicts another value. For a bad value, the text has
// the variable, the value and the allowed values. For a misspelt name it also has the nearest
// allowed name. For a contradiction it names the options.
std::optional<ShardingSettings> parse_sharding(const GetEnv& get);

// Throws std::invalid_argument, which names the option, if options of a program are out of range or
// contradict each other. parse_sharding() has already checked what it returns.
void check_sharding(const ShardingOptions& options);

// Returns the number of ranks that share one copy of the model: a divisor of `world_size`. Throws
// std::invalid_argument if options.shard_size, or the ranks of a host, do not divide the world.
int shard_group_size(const ShardingOptions& options, int world_size, int local_world_size);

}  // namespace accel::runtime
