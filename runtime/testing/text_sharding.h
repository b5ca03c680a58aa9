// Ways to shard the small language model of text_net.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "accel/options.h"
#include "accel/sharding.h"
#include "runtime/testing/text_net.h"

namespace accel::runtime {

using Sharding = std::optional<ShardingOptions>;

// Returns options without prefetching, whose units are modules of these classes. `group` is the
// number of ranks that hold the model once, for hybrid strategies.
inline Sharding sharded(ShardingStrategy strategy, std::vector<std::string> classes,
                        int group = 0) {
  return ShardingOptions{
      .strategy = strategy,
      .shard_size = group,
      .auto_wrap_policy = classes.empty() ? WrapPolicy::kNoWrap : WrapPolicy::kTransformerBased,
      .transformer_layer_cls_to_wrap = std::move(classes),
      .backward_prefetch = BackwardPrefetch::kNone};
}

inline const Sharding kBlocks = sharded(ShardingStrategy::kFullShard, {"Block"});

// Returns options whose units are blocks, except for the modules that `pattern` names.
inline Sharding ignoring(const std::string& pattern) {
  return ShardingOptions{.auto_wrap_policy = WrapPolicy::kTransformerBased,
                         .transformer_layer_cls_to_wrap = {"Block"},
                         .ignored_modules = pattern};
}

// Returns `options` with this sharding.
inline AcceleratorOptions with(const Sharding& sharding, AcceleratorOptions options = {}) {
  options.sharding = sharding;
  return options;
}

// Returns a model of three blocks, whose values depend on the seed only.
inline Text seeded_net(std::uint64_t seed, bool is_tied = false) {
  torch::manual_seed(seed);
  return Text(3, 8, is_tied);
}

}  // namespace accel::runtime
