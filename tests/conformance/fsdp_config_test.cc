// What a worker reads from the variables of a launcher, compared with the plugin that Python's
// Accelerate makes of the same variables. Cases of the launcher itself are in launch_env_test.cc,
// and those of the conversion in to_fsdp2_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "tests/conformance/fsdp_options.h"
#include "tests/conformance/golden.h"

namespace accel::runtime {
namespace {

using nlohmann::json;

// What a case gives a worker, and the plugin or the error that Accelerate makes of it.
struct WorkerCase {
  Variables variables;
  json plugin;
  json defects;  // Fields in which Accelerate is wrong (docs/decisions/0061).
};

// Returns a member that may be missing or null.
json member(const json& object, const char* name) {
  return object.is_object() ? object.value(name, json()) : json();
}

// Returns nullopt for a case that is about something else: the launcher, or objects that only a
// Python program can pass.
std::optional<WorkerCase> worker_case(const json& golden) {
  const json& params = golden["params"];
  const json& expected = golden["expected"];
  const std::string op = params["op"];
  WorkerCase out{
      .variables = {}, .plugin = {}, .defects = golden.value("defect_fields", json::array())};
  if (op == "launch") {
    if (!member(expected, "env").is_object()) return std::nullopt;
    out.variables = expected["env"].get<Variables>();
    out.plugin = member(expected, "plugin");
    return out;
  }
  if (op != "plugin" || member(params, "arguments") != json::object()) return std::nullopt;
  out.variables = params["env"].get<Variables>();
  out.variables.emplace("ACCELERATE_USE_FSDP", "true");
  out.plugin = expected;
  return out;
}

std::string name_of(ShardingStrategy strategy) {
  constexpr const char* kNames[] = {"FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD",
                                    "_HYBRID_SHARD_ZERO2"};
  return kNames[static_cast<int>(strategy)];
}

json name_of(WrapPolicy policy) {
  if (policy == WrapPolicy::kNoWrap) return nullptr;
  return policy == WrapPolicy::kSizeBased ? "SIZE_BASED_WRAP" : "TRANSFORMER_BASED_WRAP";
}

json name_of(BackwardPrefetch prefetch) {
  if (prefetch == BackwardPrefetch::kNone) return nullptr;
  return prefetch == BackwardPrefetch::kPre ? "BACKWARD_PRE" : "BACKWARD_POST";
}

json text_or_null(const std::string& text) { return text.empty() ? json() : json(text); }

// Returns the fields of a plugin that these options have, and that have an effect in their version.
json fields_of(const ShardingOptions& options) {
  json fields = {
      {"fsdp_version", options.version},
      {"auto_wrap_policy", name_of(options.auto_wrap_policy)},
      {"ignored_modules", text_or_null(options.ignored_modules)},
      {"state_dict_type",
       options.state_dict_type == StateDictType::kFull ? "FULL_STATE_DICT" : "SHARDED_STATE_DICT"},
      {"activation_checkpointing", options.activation_checkpointing},
      {"activation_checkpointing_offload", options.activation_checkpointing_offload},
      {"cpu_ram_efficient_loading", options.cpu_ram_efficient_loading},
      {"limit_all_gathers", options.limit_all_gathers}};
  if (options.version == 2) {
    fields["reshard_after_forward"] = json(options.frees_after_forward());
    return fields;
  }
  fields["sharding_strategy"] = name_of(options.strategy);
  fields["backward_prefetch"] = name_of(options.backward_prefetch);
  fields["forward_prefetch"] = options.forward_prefetch;
  fields["use_orig_params"] = options.use_orig_params;
  fields["sync_module_states"] = options.sync_module_states;
  return fields;
}

bool is_defect(const WorkerCase& one, const std::string& field) {
  return std::find(one.defects.begin(), one.defects.end(), "plugin." + field) != one.defects.end();
}

void expect_equal(const WorkerCase& one, const ShardingOptions& options) {
  const json fields = fields_of(options);
  for (const auto& [name, value] : fields.items()) {
    if (is_defect(one, name)) continue;
    EXPECT_EQ(value, member(one.plugin, name.c_str())) << name;
  }
  const json offload = member(one.plugin, "cpu_offload");
  const json offloads = member(offload, "offload_params");
  // Version 2 has an object of another class instead.
  EXPECT_EQ(options.offload_params, offloads.is_boolean()
                                        ? offloads.get<bool>()
                                        : member(offload, "type") == "CPUOffloadPolicy");
  // The plugin has these only if its policy uses them.
  const json names = member(one.plugin, "transformer_cls_names_to_wrap");
  if (names.is_array() && !is_defect(one, "transformer_cls_names_to_wrap") && names != json{""}) {
    EXPECT_EQ(json(options.transformer_layer_cls_to_wrap), names);
  }
  const json size = member(one.plugin, "min_num_params");
  if (!size.is_null()) {
    EXPECT_EQ(json(options.min_num_params), size);
  }
}

// A LOCAL_STATE_DICT and a negative size, which Accelerate accepts, are refused.
bool is_refused_here(const WorkerCase& one) {
  const json size = member(one.plugin, "min_num_params");
  const bool is_negative = size.is_number() && size.get<double>() < 0;
  return is_negative || member(one.plugin, "state_dict_type") == "LOCAL_STATE_DICT";
}

TEST(FsdpConfigTest, AWorkerReadsWhatThePluginDoes) {
  int accepted = 0, refused = 0;
  for (const json& golden : golden_cases("fsdp_config.json")) {
    const auto one = worker_case(golden);
    if (!one) continue;
    SCOPED_TRACE(json(one->variables).dump());
    if (one->plugin.is_null()) {
      EXPECT_FALSE(parse_variables(one->variables).has_value());
      continue;
    }
    // Text is refused as YAML is.
    const bool contradicts =
        golden.value("upstream_defect", json()).is_string() &&
        golden["upstream_defect"].get<std::string>().starts_with("ram efficient loading");
    if (one->plugin.contains("error") || is_refused_here(*one) || contradicts) {
      ++refused;
      try {
        parse_variables(one->variables);
        ADD_FAILURE() << "is accepted, and not by Accelerate: " << one->plugin.dump();
      } catch (const std::invalid_argument& error) {
        const std::string text = error.what();
        EXPECT_TRUE(text.find("FSDP_") != text.npos || text.starts_with("sharding.")) << text;
      }
      continue;
    }
    ++accepted;
    try {
      const auto settings = parse_variables(one->variables);
      ASSERT_TRUE(settings.has_value());
      expect_equal(*one, settings->options);
    } catch (const std::invalid_argument& error) {
      ADD_FAILURE() << error.what();
    }
  }
  EXPECT_GT(accepted, 50);
  EXPECT_GT(refused, 5);
}

}  // namespace
}  // namespace accel::runtime
