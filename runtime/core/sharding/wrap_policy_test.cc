#include "runtime/core/sharding/wrap_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace accel::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ModuleTree linear(const std::string& name, std::int64_t size, std::uint64_t shared_id = 0) {
  return {.name = name,
          .classes = {"Linear"},
          .parameters = {{.name = "weight", .shape = {size, size}, .shared_id = shared_id},
                         {.name = "bias", .shape = {size}}}};
}

ModuleTree model() {
  return {.classes = {"Model"},
          .children = {
              {.name = "layers",
               .classes = {"ModuleList"},
               .kind = ModuleKind::kContainer,
               .children = {{.name = "0", .classes = {"Block"}, .children = {linear("up", 2, 7)}},
                            {.name = "1", .classes = {"Block"}, .children = {linear("up", 2, 7)}}}},
              linear("head", 3)}};
}

ShardingOptions blocks() {
  return {.auto_wrap_policy = WrapPolicy::kTransformerBased,
          .transformer_layer_cls_to_wrap = {"Block"}};
}

std::string refusal(const ModuleTree& tree, const ShardingOptions& options) {
  try {
    plan_units(tree, options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(WrapPolicyTest, ATiedParameterBelongsToTheUnitAroundAllOfItsUses) {
  const WrapPlan plan = plan_units(model(), blocks());
  ASSERT_EQ(plan.units.size(), 3u);
  EXPECT_THAT(plan.units[0].parameters,
              ElementsAre("layers.0.up.weight", "head.weight", "head.bias"));
  EXPECT_THAT(plan.units[1].parameters, ElementsAre("layers.0.up.bias"));
  EXPECT_THAT(plan.units[2].parameters, ElementsAre("layers.1.up.bias"));
  EXPECT_THAT(plan.shared, ElementsAre(ElementsAre("layers.0.up.weight", "layers.1.up.weight")));
}

TEST(WrapPolicyTest, TheRootIsNotFreedAfterForward) {
  for (const int version : {1, 2}) {
    ShardingOptions options = blocks();
    options.version = version;
    const WrapPlan plan = plan_units(model(), options);
    EXPECT_FALSE(plan.units[0].reshard_after_forward);
    EXPECT_TRUE(plan.units[1].reshard_after_forward);
    options.strategy = ShardingStrategy::kShardGradOp;
    EXPECT_FALSE(plan_units(model(), options).units[1].reshard_after_forward);
  }
}

TEST(WrapPolicyTest, AnUnknownClassIsRefusedWithTheNearest) {
  ShardingOptions options = blocks();
  options.transformer_layer_cls_to_wrap = {"Blok"};
  EXPECT_EQ(refusal(model(), options),
            "transformer_layer_cls_to_wrap has \"Blok\", and the model has no module of that "
            "class: it has Block, Linear, Model, ModuleList, did you mean Block?");
  options.transformer_layer_cls_to_wrap = {};
  EXPECT_THAT(refusal(model(), options), HasSubstr("needs transformer_layer_cls_to_wrap"));
}

TEST(WrapPolicyTest, ParametersBelowAnIgnoredModuleAreInNoUnit) {
  ShardingOptions options = blocks();
  options.ignored_modules = "layers\\.1|head";
  const WrapPlan plan = plan_units(model(), options);
  ASSERT_EQ(plan.units.size(), 2u);
  EXPECT_THAT(plan.units[0].parameters, ElementsAre());
  EXPECT_THAT(plan.units[1].parameters, ElementsAre("layers.0.up.bias"));
  // Another name of a parameter is the same tensor.
  EXPECT_THAT(plan.unmanaged, ElementsAre("head.bias", "head.weight", "layers.0.up.weight",
                                          "layers.1.up.bias", "layers.1.up.weight"));
}

TEST(WrapPolicyTest, APatternWithoutAModuleIsRefused) {
  EXPECT_EQ(refusal(model(), {.ignored_modules = "layer"}),
            "ignored_modules is \"layer\", and matches the whole name of no module of the model: "
            "it has layers, layers.0, layers.0.up, layers.1, layers.1.up, head");
}

TEST(WrapPolicyTest, AnUnknownEmbeddingIsRefused) {
  EXPECT_THAT(refusal(model(), {.embeddings = {.input = "embed"}}),
              HasSubstr("embeddings.input is \"embed\""));
  EXPECT_THAT(refusal(model(), {.embeddings = {.base = "base"}}), HasSubstr("embeddings.base"));
}

TEST(WrapPolicyTest, TrainableParametersOfAUnitHaveOneDtype) {
  ModuleTree tree = model();
  tree.children[1].parameters[1].dtype = "bfloat16";
  EXPECT_THAT(refusal(tree, blocks()), HasSubstr("head.bias in bfloat16"));
  tree.children[1].parameters[1].requires_grad = false;
  EXPECT_EQ(refusal(tree, blocks()), "accepted");
}

TEST(WrapPolicyTest, AScalarIsAParameterLikeOthers) {
  ModuleTree tree = model();
  tree.parameters.push_back({.name = "temperature", .shape = {}});
  EXPECT_EQ(plan_units(tree, {}).units[0].elements, 4 + 2 + 2 + 9 + 3 + 1);
}

TEST(WrapTreeTest, TypesHaveTheNamesThatUsersKnow) {
  EXPECT_THAT(class_names_of("torch::nn::LinearImpl"),
              ElementsAre("Linear", "LinearImpl", "torch::nn::LinearImpl"));
  EXPECT_THAT(class_names_of("Block"), ElementsAre("Block"));
  EXPECT_THAT(class_names_of("Impl"), ElementsAre("Impl"));
  EXPECT_THAT(class_names_of("a::Of<b::C>"), ElementsAre("Of<b::C>", "a::Of<b::C>"));
}

}  // namespace
}  // namespace accel::runtime
