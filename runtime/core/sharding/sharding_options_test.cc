#include "runtime/core/sharding/sharding_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <stdexcept>

namespace accel::runtime {
namespace {

using Variables = std::map<std::string, std::string>;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::optional<ShardingSettings> parse(Variables variables) {
  variables.emplace("ACCELERATE_USE_FSDP", "true");
  return parse_sharding([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

std::string refusal(const Variables& variables) {
  return refusal([&] { parse(variables); });
}

TEST(ShardingOptionsTest, WithoutTheSwitchThereIsNoSharding) {
  EXPECT_FALSE(parse({{"ACCELERATE_USE_FSDP", "false"}, {"FSDP_VERSION", "x"}}).has_value());
  EXPECT_FALSE(parse({{"ACCELERATE_USE_FSDP", ""}}).has_value());
}

TEST(ShardingOptionsTest, EachNameAndNumberOfAStrategyIsRead) {
  for (const char* name : {"_HYBRID_SHARD_ZERO2", "hybrid_shard_zero2", "5"}) {
    EXPECT_EQ(parse({{"FSDP_SHARDING_STRATEGY", name}})->options.strategy,
              ShardingStrategy::kHybridShardZero2);
  }
  EXPECT_EQ(parse({{"FSDP_SHARDING_STRATEGY", "2"}})->options.strategy,
            ShardingStrategy::kShardGradOp);
}

TEST(ShardingOptionsTest, AStrategyUnderTheOtherKeyCounts) {
  const auto alone = parse({{"FSDP_RESHARD_AFTER_FORWARD", "SHARD_GRAD_OP"}});
  EXPECT_EQ(alone->options.strategy, ShardingStrategy::kShardGradOp);
  EXPECT_THAT(alone->notes, IsEmpty());
  const auto both =
      parse({{"FSDP_RESHARD_AFTER_FORWARD", "NO_SHARD"}, {"FSDP_SHARDING_STRATEGY", "FULL_SHARD"}});
  EXPECT_EQ(both->options.strategy, ShardingStrategy::kFullShard);
  EXPECT_THAT(both->notes, ElementsAre(HasSubstr("\"NO_SHARD\" has no effect")));
}

TEST(ShardingOptionsTest, Version2ReadsReplicasFromTheMesh) {
  const auto settings = parse({{"FSDP_VERSION", "2"},
                               {"FSDP_RESHARD_AFTER_FORWARD", "false"},
                               {"PARALLELISM_CONFIG_DP_REPLICATE_SIZE", "2"},
                               {"PARALLELISM_CONFIG_DP_SHARD_SIZE", "4"}});
  EXPECT_TRUE(settings->options.is_hybrid());
  EXPECT_FALSE(settings->options.frees_after_forward());
  EXPECT_EQ(shard_group_size(settings->options, 8, 8), 4);
}

TEST(ShardingOptionsTest, Version2SaysThatAStrategyHasNoEffect) {
  EXPECT_THAT(parse({{"FSDP_VERSION", "2"}, {"FSDP_SHARDING_STRATEGY", "NO_SHARD"}})->notes,
              ElementsAre(HasSubstr("FSDP_SHARDING_STRATEGY")));
  EXPECT_THAT(parse({{"FSDP_VERSION", "2"}, {"FSDP_SHARDING_STRATEGY", "full_shard"}})->notes,
              IsEmpty());
}

TEST(ShardingOptionsTest, ClassNamesLoseSpacesBracketsAndQuotes) {
  for (const char* text : {"A,B", " A , B,", "['A', 'B']", "[\"A\",\"B\"]"}) {
    EXPECT_THAT(
        parse({{"FSDP_TRANSFORMER_CLS_TO_WRAP", text}})->options.transformer_layer_cls_to_wrap,
        ElementsAre("A", "B"))
        << text;
  }
}

TEST(ShardingOptionsTest, AWrongValueIsRefusedByItsVariable) {
  EXPECT_EQ(refusal({{"FSDP_SHARDING_STRATEGY", "FULL_SHARDS"}}),
            "FSDP_SHARDING_STRATEGY=\"FULL_SHARDS\" should be FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, "
            "HYBRID_SHARD or HYBRID_SHARD_ZERO2 (or 1 to 5), did you mean FULL_SHARD?");
  for (const auto& [name, value] : Variables{{"FSDP_VERSION", "3"},
                                             {"FSDP_RESHARD_AFTER_FORWARD", "sometimes"},
                                             {"FSDP_OFFLOAD_PARAMS", "2"},
                                             {"FSDP_AUTO_WRAP_POLICY", "LAMBDA"},
                                             {"FSDP_MIN_NUM_PARAMS", "1e8"},
                                             {"FSDP_BACKWARD_PREFETCH", "3"},
                                             {"FSDP_STATE_DICT_TYPE", "LOCAL_STATE_DICT"},
                                             {"FSDP_STATE_DICT_TYPE", "4"},
                                             {"FSDP_IGNORED_MODULES", "("}}) {
    EXPECT_THAT(refusal({{name, value}}), HasSubstr(name)) << value;
  }
  EXPECT_THAT(refusal({{"FSDP_VERSION", "2"}, {"FSDP_RESHARD_AFTER_FORWARD", "FULL_SHARD"}}),
              HasSubstr("accel to-fsdp2"));
}

TEST(ShardingOptionsTest, ContradictionsAreRefused) {
  EXPECT_THAT(refusal({{"FSDP_ACTIVATION_CHECKPOINTING_OFFLOAD", "true"}}),
              HasSubstr("needs activation_checkpointing"));
  EXPECT_THAT(refusal({{"FSDP_ACTIVATION_CHECKPOINTING_OFFLOAD", "true"},
                       {"FSDP_ACTIVATION_CHECKPOINTING", "true"}}),
              HasSubstr("version 2"));
  EXPECT_THAT(refusal({{"FSDP_CPU_RAM_EFFICIENT_LOADING", "1"}, {"FSDP_SYNC_MODULE_STATES", "0"}}),
              HasSubstr("sync_module_states"));
  EXPECT_THAT(refusal([] { check_sharding({.version = 3}); }), HasSubstr("version is 3"));
  EXPECT_THAT(refusal([] { check_sharding({.min_num_params = -1}); }), HasSubstr("-1"));
  EXPECT_THAT(refusal([] { check_sharding({.shard_size = -1}); }), HasSubstr("shard_size is -1"));
  EXPECT_THAT(refusal([] { check_sharding({.ignored_modules = std::string(2000, 'a')}); }),
              HasSubstr("more than 1000"));
}

TEST(ShardingOptionsTest, BothStateDictsThatCanBeLoadedAreRead) {
  const auto sharded = parse({{"FSDP_STATE_DICT_TYPE", "3"}});
  EXPECT_EQ(sharded->options.state_dict_type, StateDictType::kSharded);
  EXPECT_THAT(sharded->notes, IsEmpty());
  EXPECT_EQ(parse({{"FSDP_STATE_DICT_TYPE", "FULL_STATE_DICT"}, {"FSDP_VERSION", "2"}})
                ->options.state_dict_type,
            StateDictType::kFull);
}

TEST(ShardingOptionsTest, AShardGroupIsTheWorldOrAHost) {
  EXPECT_EQ(shard_group_size({}, 8, 4), 8);
  EXPECT_EQ(shard_group_size({.strategy = ShardingStrategy::kNoShard}, 8, 4), 1);
  EXPECT_EQ(shard_group_size({.strategy = ShardingStrategy::kHybridShard}, 8, 4), 4);
  EXPECT_EQ(shard_group_size({.strategy = ShardingStrategy::kHybridShard, .shard_size = 2}, 8, 4),
            2);
  EXPECT_THAT(refusal([] {
                shard_group_size({.strategy = ShardingStrategy::kHybridShard, .shard_size = 3}, 8,
                                 4);
              }),
              HasSubstr("3 processes does not divide 8"));
}

}  // namespace
}  // namespace accel::runtime
