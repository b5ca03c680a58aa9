// The units of sharded models, compared with those that Python's Accelerate makes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <stdexcept>

#include "runtime/core/sharding/wrap_policy.h"
#include "tests/conformance/fsdp_options.h"
#include "tests/conformance/golden.h"

namespace accel::runtime {
namespace {

using nlohmann::json;
using Names = std::vector<std::string>;

// Builds the tree of a case.
class TreeOf {
 public:
  explicit TreeOf(const json& params) : params_(params) {}

  ModuleTree build() { return build_module(params_["model"], "", ""); }

 private:
  ModuleTree build_module(const json& model, const std::string& name, const std::string& path) {
    ModuleTree tree;
    tree.name = name;
    tree.classes = {model["class"].get<std::string>()};
    const json bases = params_.value("class_bases", json::object());
    if (bases.contains(tree.classes[0])) tree.classes.push_back(bases[tree.classes[0]]);
    tree.kind = kind_of_class(tree.classes[0]);
    const std::string dot = path.empty() ? "" : path + ".";
    for (const json& parameter : model.value("params", json::array())) {
      TreeParameter& to = tree.parameters.emplace_back();
      to.name = parameter[0];
      to.shape = parameter[1].get<std::vector<std::int64_t>>();
      if (parameter.size() > 2) to.dtype = parameter[2];
      to.requires_grad = !is_listed("frozen", dot + to.name);
      to.shared_id = id_of(dot + to.name);
    }
    for (const json& child : model.value("children", json::array())) {
      tree.children.push_back(build_module(child[1], child[0], dot + child[0].get<std::string>()));
    }
    return tree;
  }

  bool is_listed(const char* list, const std::string& name) const {
    const json names = params_.value(list, json::array());
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  std::uint64_t id_of(const std::string& name) const {
    std::uint64_t id = 0;
    for (const json& pair : params_.value("tied", json::array())) {
      ++id;
      if (pair[0] == name || pair[1] == name) return id;
    }
    return 0;
  }

  const json& params_;
};

// Returns the options as a worker reads them from the variables of a launch.
ShardingOptions options_of(const json& params) {
  Variables variables = {{"ACCELERATE_USE_FSDP", "true"},
                         {"FSDP_VERSION", params["fsdp_version"].dump()},
                         {"FSDP_AUTO_WRAP_POLICY", params["auto_wrap_policy"]}};
  const std::pair<const char*, const char*> kKeys[] = {
      {"transformer_layer_cls_to_wrap", "FSDP_TRANSFORMER_CLS_TO_WRAP"},
      {"min_num_params", "FSDP_MIN_NUM_PARAMS"},
      {"use_orig_params", "FSDP_USE_ORIG_PARAMS"},
      {"ignored_modules", "FSDP_IGNORED_MODULES"},
      {"activation_checkpointing", "FSDP_ACTIVATION_CHECKPOINTING"},
      {"reshard_after_forward", "FSDP_RESHARD_AFTER_FORWARD"}};
  for (const auto& [key, variable] : kKeys) {
    if (params.contains(key)) variables[variable] = variable_of(params[key]);
  }
  // Models of Transformers list their layers themselves.
  if (!params.contains("transformer_layer_cls_to_wrap") && params.contains("no_split_modules")) {
    variables["FSDP_TRANSFORMER_CLS_TO_WRAP"] = variable_of(params["no_split_modules"]);
  }
  ShardingOptions options = parse_variables(variables)->options;
  const json embeddings = params.value("embeddings", json::object());
  options.embeddings = {.input = embeddings.value("input", ""),
                        .output = embeddings.value("output", ""),
                        .base = embeddings.value("base", "")};
  return options;
}

json to_json(const WrapPlan& plan, int version) {
  json units = json::array();
  for (const WrapUnit& unit : plan.units) {
    json to = {{"module", unit.name()}, {"params", unit.parameters}, {"numel", unit.elements}};
    if (unit.modules.size() > 1) to["modules"] = unit.modules;
    if (version == 1) to["requires_grad"] = unit.requires_grad;
    if (version == 2) to["reshard_after_forward"] = unit.reshard_after_forward;
    units.push_back(to);
  }
  return units;
}

// Checks that each parameter is in one unit, and that the unit is around each of its uses.
void expect_sound(const WrapPlan& plan, const json& params) {
  std::map<std::string, const WrapUnit*> owners;
  for (const WrapUnit& unit : plan.units) {
    for (const std::string& name : unit.parameters) {
      EXPECT_TRUE(owners.emplace(name, &unit).second) << name << " is in two units";
    }
  }
  for (const Names& names : plan.shared) {
    ASSERT_TRUE(owners.contains(names[0])) << names[0];
    for (const std::string& name : names) {
      const Names& modules = owners[names[0]]->modules;
      EXPECT_TRUE(std::any_of(modules.begin(), modules.end(),
                              [&](const std::string& module) {
                                return module.empty() || name.starts_with(module + ".");
                              }))
          << name << " is not in its unit";
    }
  }
}

// Checks what accel does where upstream refuses the model.
void expect_agrees_on_error(const json& golden) {
  const std::string error = golden["expected"]["error"];
  const json& params = golden["params"];
  const auto plan = [&] { return plan_units(TreeOf(params).build(), options_of(params)); };
  if (error.find("Could not find the transformer layer class") != std::string::npos) {
    if (error.find("class  Block") != std::string::npos) {  // Spaces around a name do not count.
      EXPECT_EQ(plan().units.size(), 4u + (params["fsdp_version"] == 2));
      return;
    }
    EXPECT_THROW(plan(), std::invalid_argument) << error;
  } else if (error.find("uniform dtype") != std::string::npos ||
             error.find("uniform original parameter dtype") != std::string::npos ||
             error.find("'NoneType' object is not callable") != std::string::npos) {
    EXPECT_THROW(plan(), std::invalid_argument) << error;
  } else {
    // Containers, scalars and frozen parameters among others are no error in accel.
    EXPECT_TRUE(error.find("containers that do not implement forward") != std::string::npos ||
                error.find("support scalar parameters") != std::string::npos ||
                error.find("uniform `requires_grad`") != std::string::npos)
        << "no test says what accel does instead: " << error;
    const WrapPlan ours = plan();
    expect_sound(ours, params);
    if (params["auto_wrap_policy"] != "SIZE_BASED_WRAP") return;
    for (const WrapUnit& unit : ours.units) {
      EXPECT_TRUE(!unit.name().ends_with("layers")) << "a container is a unit: " << unit.name();
    }
  }
}

TEST(FsdpWrapTest, UnitsEqualUpstreams) {
  int equal = 0, better = 0;
  for (const json& golden : golden_cases("fsdp_wrap.json")) {
    SCOPED_TRACE(golden["params"].dump());
    const json& expected = golden["expected"];
    if (expected.contains("error")) {
      expect_agrees_on_error(golden);
      continue;
    }
    const json& params = golden["params"];
    const std::string defect = golden.value("upstream_defect", "");
    // No layers: upstream wraps the root alone, without a message. Modules of C++ do not list their
    // layers, so that would be the outcome of each configuration file without class names.
    const bool has_no_layers = params["auto_wrap_policy"] == "TRANSFORMER_BASED_WRAP" &&
                               options_of(params).transformer_layer_cls_to_wrap.empty();
    if (has_no_layers || defect.find("without a wrap policy every") != std::string::npos) {
      EXPECT_THROW(plan_units(TreeOf(params).build(), options_of(params)), std::invalid_argument);
      ++better;
      continue;
    }
    const WrapPlan ours = plan_units(TreeOf(params).build(), options_of(params));
    expect_sound(ours, params);
    if (defect.find("tied") != std::string::npos) {
      ++better;
      continue;
    }
    ++equal;
    EXPECT_EQ(to_json(ours, params["fsdp_version"]), expected["units"]);
    EXPECT_EQ(json(ours.shared), expected.value("shared", json::array()));
    if (expected.contains("unmanaged")) {
      EXPECT_EQ(json(ours.unmanaged), expected["unmanaged"]);
    }
    if (!expected.contains("checkpointed")) continue;
    if (!defect.empty()) {  // The rule for checkpointing counts the sizes of shards.
      EXPECT_EQ(ours.checkpointed, (Names{"layers.0", "layers.1", "layers.2"}));
    } else {
      EXPECT_EQ(json(ours.checkpointed), expected["checkpointed"]);
    }
  }
  std::printf("%d cases are equal, %d are better\n", equal, better);
}

}  // namespace
}  // namespace accel::runtime
