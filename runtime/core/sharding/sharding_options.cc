#include "runtime/core/sharding/sharding_options.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <regex>
#include <stdexcept>
#include <system_error>

#include "runtime/core/sharding/named_value.h"

namespace accel::runtime {
namespace {

// The numbers of a value, as in Python's enumerations, are the positions in these lists from 1.
constexpr std::string_view kStrategies[] = {"FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD",
                                            "HYBRID_SHARD", "HYBRID_SHARD_ZERO2"};
constexpr std::string_view kTorchsName = "_HYBRID_SHARD_ZERO2";
constexpr std::string_view kPrefetches[] = {"BACKWARD_PRE", "BACKWARD_POST", "NO_PREFETCH"};
constexpr std::string_view kStateDicts[] = {"FULL_STATE_DICT", "LOCAL_STATE_DICT",
                                            "SHARDED_STATE_DICT"};
constexpr std::string_view kPolicies[] = {"TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP", "NO_WRAP"};
constexpr std::string_view kTrue[] = {"1", "true", "yes", "y", "t", "on"};
constexpr std::string_view kFalse[] = {"0", "false", "no", "n", "f", "off"};

// A longer pattern is no list of modules. The library's matcher recurses over the pattern.
constexpr std::size_t kMaxPattern = 1000;

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what); }

std::optional<bool> truth(std::string_view text) {
  if (find_name(text, kTrue) < std::size(kTrue)) return true;
  if (find_name(text, kFalse) < std::size(kFalse)) return false;
  return std::nullopt;
}

// Returns the position of a name or of a number from 1 in `names`, or names.size().
std::size_t choice(std::string_view text, std::span<const std::string_view> names,
                   std::size_t numbers) {
  if (text.size() == 1 && text[0] >= '1' && static_cast<std::size_t>(text[0] - '0') <= numbers) {
    return static_cast<std::size_t>(text[0] - '1');
  }
  return find_name(text, names);
}

std::optional<ShardingStrategy> strategy_named(std::string_view text) {
  if (find_name(text, {&kTorchsName, 1}) == 0) return ShardingStrategy::kHybridShardZero2;
  const std::size_t found = choice(text, kStrategies, std::size(kStrategies));
  if (found == std::size(kStrategies)) return std::nullopt;
  return static_cast<ShardingStrategy>(found);
}

// Splits at commas, without the brackets and quotes that Accelerate's launcher leaves around the
// items of a YAML list.
std::vector<std::string> class_names(std::string_view text) {
  constexpr std::string_view kAround = " \t\n[]'\"";
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    std::string_view name = text.substr(begin, comma - begin);
    const std::size_t first = name.find_first_not_of(kAround);
    if (first != std::string_view::npos) {
      name = name.substr(first, name.find_last_not_of(kAround) - first + 1);
      names.emplace_back(name);
    }
    begin = comma + 1;
  }
  return names;
}

// The variables of one worker.
class Variables {
 public:
  explicit Variables(const GetEnv& get) : get_(get) {}

  std::optional<std::string> text(const char* name) const {
    std::optional<std::string> value = get_(name);
    return value && value->empty() ? std::nullopt : value;
  }

  bool flag(const char* name, bool otherwise) const {
    const auto value = text(name);
    if (!value) return otherwise;
    const std::optional<bool> parsed = truth(*value);
    if (!parsed) refuse(std::string(name) + "=" + in_quotes(*value) + " should be true or false");
    return *parsed;
  }

  std::int64_t number(const char* name, std::int64_t otherwise, std::int64_t least,
                      std::int64_t most) const {
    const auto value = text(name);
    if (!value) return otherwise;
    std::int64_t parsed = 0;
    const char* end = value->data() + value->size();
    const auto [stop, error] = std::from_chars(value->data(), end, parsed);
    if (error != std::errc() || stop != end || parsed < least || parsed > most) {
      refuse(std::string(name) + "=" + in_quotes(*value) + " should be a whole number from " +
             std::to_string(least) + " to " + std::to_string(most) + ", written in digits");
    }
    return parsed;
  }

 private:
  const GetEnv& get_;
};

void read_strategy_of_version_1(const Variables& variables, ShardingSettings& to) {
  const auto strategy = variables.text("FSDP_SHARDING_STRATEGY");
  const auto reshard = variables.text("FSDP_RESHARD_AFTER_FORWARD");
  if (strategy) {
    const auto found = strategy_named(*strategy);
    if (!found) refuse_name("FSDP_SHARDING_STRATEGY", *strategy, kStrategies, " (or 1 to 5)");
    to.options.strategy = *found;
  }
  if (!reshard || truth(*reshard).has_value()) return;
  const auto found = strategy_named(*reshard);
  if (!found) refuse_name("FSDP_RESHARD_AFTER_FORWARD", *reshard, kStrategies, ", true or false");
  // Accelerate's questionnaire writes the strategy under this key, and its launcher ignores it
  // (docs/decisions/0061).
  if (!strategy) {
    to.options.strategy = *found;
  } else if (*found != to.options.strategy) {
    to.notes.push_back("FSDP_RESHARD_AFTER_FORWARD=" + in_quotes(*reshard) +
                       " has no effect, because FSDP_SHARDING_STRATEGY is " + in_quotes(*strategy));
  }
}

void read_strategy_of_version_2(const Variables& variables, ShardingSettings& to) {
  const auto reshard = variables.text("FSDP_RESHARD_AFTER_FORWARD");
  if (reshard && !truth(*reshard).has_value()) {
    refuse("FSDP_RESHARD_AFTER_FORWARD=" + in_quotes(*reshard) +
           " should be true or false in version 2 of FSDP; `accel to-fsdp2` converts a file");
  }
  to.options.reshard_after_forward = reshard ? *truth(*reshard) : true;
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  if (variables.number("PARALLELISM_CONFIG_DP_REPLICATE_SIZE", 1, 1, kMost) > 1) {
    to.options.strategy = ShardingStrategy::kHybridShard;
    to.options.shard_size =
        static_cast<int>(variables.number("PARALLELISM_CONFIG_DP_SHARD_SIZE", 0, 1, kMost));
  }
  // Launchers always export FULL_SHARD.
  const auto strategy = variables.text("FSDP_SHARDING_STRATEGY");
  if (strategy && strategy_named(*strategy) != ShardingStrategy::kFullShard) {
    to.notes.push_back("FSDP_SHARDING_STRATEGY=" + in_quotes(*strategy) +
                       " has no effect in version 2 of FSDP: use FSDP_RESHARD_AFTER_FORWARD");
  }
}

void read_policy(const Variables& variables, ShardingOptions& to) {
  if (const auto policy = variables.text("FSDP_AUTO_WRAP_POLICY")) {
    const std::size_t found = find_name(*policy, kPolicies);
    if (found == std::size(kPolicies)) refuse_name("FSDP_AUTO_WRAP_POLICY", *policy, kPolicies);
    constexpr WrapPolicy kValues[] = {WrapPolicy::kTransformerBased, WrapPolicy::kSizeBased,
                                      WrapPolicy::kNoWrap};
    to.auto_wrap_policy = kValues[found];
  }
  to.transformer_layer_cls_to_wrap =
      class_names(variables.text("FSDP_TRANSFORMER_CLS_TO_WRAP").value_or(""));
  to.min_num_params =
      variables.number("FSDP_MIN_NUM_PARAMS", 0, 0, std::numeric_limits<std::int64_t>::max());
  to.ignored_modules = variables.text("FSDP_IGNORED_MODULES").value_or("");
}

void read_prefetch(const Variables& variables, ShardingOptions& to) {
  // Accelerate's default in version 1 is no prefetch. Version 2 always prefetches
  // the previous unit.
  to.backward_prefetch = to.version == 2 ? BackwardPrefetch::kPre : BackwardPrefetch::kNone;
  if (const auto prefetch = variables.text("FSDP_BACKWARD_PREFETCH")) {
    const std::size_t found = choice(*prefetch, kPrefetches, 2);
    if (found == std::size(kPrefetches)) {
      refuse_name("FSDP_BACKWARD_PREFETCH", *prefetch, kPrefetches, " (or 1 or 2)");
    }
    constexpr BackwardPrefetch kValues[] = {BackwardPrefetch::kPre, BackwardPrefetch::kPost,
                                            BackwardPrefetch::kNone};
    to.backward_prefetch = kValues[found];
  }
  to.forward_prefetch = variables.flag("FSDP_FORWARD_PREFETCH", false);
}

void read_state_dict_type(const Variables& variables, ShardingOptions& to) {
  to.state_dict_type = to.version == 2 ? StateDictType::kSharded : StateDictType::kFull;
  const auto type = variables.text("FSDP_STATE_DICT_TYPE");
  if (!type) return;
  const std::size_t found = choice(*type, kStateDicts, std::size(kStateDicts));
  if (found == std::size(kStateDicts)) {
    refuse_name("FSDP_STATE_DICT_TYPE", *type, kStateDicts, " (or 1 to 3)");
  }
  if (found == 1) {
    refuse(
        "FSDP_STATE_DICT_TYPE=LOCAL_STATE_DICT makes checkpoints that cannot be loaded: use "
        "SHARDED_STATE_DICT");
  }
  to.state_dict_type = found == 0 ? StateDictType::kFull : StateDictType::kSharded;
}

}  // namespace

std::optional<ShardingSettings> parse_sharding(const GetEnv& get) {
  const Variables variables(get);
  if (!variables.flag("ACCELERATE_USE_FSDP", false)) return std::nullopt;
  ShardingSettings settings;
  ShardingOptions& options = settings.options;
  options.version = static_cast<int>(variables.number("FSDP_VERSION", 1, 1, 2));
  if (options.version == 1) {
    read_strategy_of_version_1(variables, settings);
  } else {
    read_strategy_of_version_2(variables, settings);
  }
  options.offload_params = variables.flag("FSDP_OFFLOAD_PARAMS", false);
  read_policy(variables, options);
  read_prefetch(variables, options);
  read_state_dict_type(variables, options);
  options.use_orig_params = variables.flag("FSDP_USE_ORIG_PARAMS", options.version == 2);
  options.cpu_ram_efficient_loading = variables.flag("FSDP_CPU_RAM_EFFICIENT_LOADING", false);
  // Loading on one rank implies that the others get their values from it.
  options.sync_module_states = variables.flag(
      "FSDP_SYNC_MODULE_STATES", options.version == 2 || options.cpu_ram_efficient_loading);
  options.activation_checkpointing = variables.flag("FSDP_ACTIVATION_CHECKPOINTING", false);
  options.activation_checkpointing_offload =
      variables.flag("FSDP_ACTIVATION_CHECKPOINTING_OFFLOAD", false);
  check_sharding(options);
  return settings;
}

void check_sharding(const ShardingOptions& options) {
  if (options.version != 1 && options.version != 2) {
    refuse("sharding.version is " + std::to_string(options.version) + ": it should be 1 or 2");
  }
  if (options.min_num_params < 0) {
    refuse("sharding.min_num_params is " + std::to_string(options.min_num_params) +
           ": it should be a number of parameters, or 0 for one unit");
  }
  if (options.shard_size < 0) {
    refuse("sharding.shard_size is " + std::to_string(options.shard_size) +
           ": it should be a number of processes, or 0 for those of one host");
  }
  if (options.activation_checkpointing_offload && !options.activation_checkpointing) {
    refuse("sharding.activation_checkpointing_offload needs activation_checkpointing");
  }
  if (options.activation_checkpointing_offload && options.version == 1) {
    refuse("sharding.activation_checkpointing_offload needs version 2 (FSDP_VERSION=2)");
  }
  if (options.cpu_ram_efficient_loading && !options.sync_module_states) {
    refuse("sharding.cpu_ram_efficient_loading needs sync_module_states");
  }
  if (options.ignored_modules.size() > kMaxPattern) {
    refuse("sharding.ignored_modules has more than " + std::to_string(kMaxPattern) + " letters");
  }
  try {
    const std::regex pattern(options.ignored_modules);
  } catch (const std::regex_error&) {
    refuse("sharding.ignored_modules (FSDP_IGNORED_MODULES) is " +
           in_quotes(options.ignored_modules) + ", which is not a regular expression");
  }
}

int shard_group_size(const ShardingOptions& options, int world_size, int local_world_size) {
  if (options.strategy == ShardingStrategy::kNoShard) return 1;
  if (!options.is_hybrid()) return world_size;
  const int size = options.shard_size > 0 ? options.shard_size : local_world_size;
  if (size < 1 || world_size % size != 0) {
    refuse("a shard group of " + std::to_string(size) + " processes" +
           (options.shard_size > 0 ? "" : ", those of this host,") + " does not divide " +
           std::to_string(world_size) + " processes: set sharding.shard_size to a divisor");
  }
  return size;
}

}  // namespace accel::runtime
