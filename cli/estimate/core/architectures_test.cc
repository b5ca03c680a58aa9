#include "cli/estimate/core/architectures.h"

#include <algorithm>

#include "cli/estimate/core/architecture_table.h"
#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

struct Golden {
  const char* config;
  uint64_t total;
  uint64_t largest;
  const char* largest_name;
};

// The answers of accelerate.utils.calculate_maximum_sizes() of Accelerate 1.15.0 for
// AutoModel.from_config() of Transformers 5.23.0. The first config of an architecture has the
// defaults of Transformers, the second one has other biases, heads and parts.
constexpr Golden kGolden[] = {
    {R"({"model_type": "bert", "hidden_size": 768, "intermediate_size": 3072,
       "max_position_embeddings": 512, "num_hidden_layers": 12, "type_vocab_size": 2,
       "vocab_size": 30522})",
     437'937'152, 95'356'928, "embeddings"},
    {R"({"model_type": "bert", "hidden_size": 96, "intermediate_size": 454,
       "max_position_embeddings": 512, "num_hidden_layers": 1, "type_vocab_size": 1,
       "vocab_size": 30011})",
     12'268'824, 11'730'176, "embeddings"},
    {R"({"model_type": "distilbert", "dim": 768, "hidden_dim": 3072,
       "max_position_embeddings": 512, "n_layers": 6, "vocab_size": 30522})",
     265'455'616, 93'763'584, "embeddings.word_embeddings"},
    {R"({"model_type": "distilbert", "dim": 256, "hidden_dim": 658, "max_position_embeddings":
       130, "n_layers": 4, "vocab_size": 300})",
     10'075'440, 676'424, "transformer.layer.0.ffn.lin1"},
    {R"({"model_type": "gemma", "hidden_size": 3072, "intermediate_size": 24576,
       "num_attention_heads": 16, "num_key_value_heads": 16, "num_hidden_layers": 28,
       "vocab_size": 256000, "head_dim": 256, "attention_bias": false})",
     34'150'724'612, 3'145'728'004, "embed_tokens"},
    {R"({"model_type": "gemma", "hidden_size": 96, "intermediate_size": 578,
       "num_attention_heads": 4, "num_key_value_heads": 1, "num_hidden_layers": 2,
       "vocab_size": 30011, "head_dim": 32, "attention_bias": true})",
     13'106'052, 11'524'228, "embed_tokens"},
    {R"({"model_type": "gemma2", "hidden_size": 2304, "intermediate_size": 9216,
       "num_attention_heads": 8, "num_key_value_heads": 4, "num_hidden_layers": 26,
       "vocab_size": 256000, "head_dim": 256, "attention_bias": false})",
     10'457'368'580, 2'359'296'004, "embed_tokens"},
    {R"({"model_type": "gemma2", "hidden_size": 256, "intermediate_size": 138,
       "num_attention_heads": 8, "num_key_value_heads": 8, "num_hidden_layers": 4,
       "vocab_size": 1000, "head_dim": 48, "attention_bias": true})",
     9'051'332, 2'006'528, "layers.0"},
    {R"({"model_type": "gpt2", "n_embd": 768, "n_inner": null, "n_layer": 12, "n_positions":
       1024, "vocab_size": 50257})",
     497'759'232, 154'389'504, "wte"},
    {R"({"model_type": "gpt2", "n_embd": 256, "n_inner": 513, "n_layer": 4, "n_positions":
       512, "vocab_size": 300})",
     9'275'408, 2'110'468, "h.0"},
    {R"({"model_type": "gpt_neox", "hidden_size": 6144, "intermediate_size": 24576,
       "num_attention_heads": 64, "num_hidden_layers": 44, "vocab_size": 50432,
       "attention_bias": true})",
     80'978'853'984, 1'812'258'816, "layers.0"},
    {R"({"model_type": "gpt_neox", "hidden_size": 192, "intermediate_size": 162,
       "num_attention_heads": 8, "num_hidden_layers": 2, "vocab_size": 1000,
       "attention_bias": true, "rotary_pct": 0.4})",
     2'462'008, 846'216, "layers.0"},
    {R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008,
       "num_attention_heads": 32, "num_key_value_heads": 32, "head_dim": 128,
       "num_hidden_layers": 32, "vocab_size": 32000, "attention_bias": false, "mlp_bias":
       false})",
     26'429'374'976, 809'533'440, "layers.0"},
    {R"({"model_type": "llama", "hidden_size": 96, "intermediate_size": 94,
       "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 48,
       "num_hidden_layers": 4, "vocab_size": 30011, "attention_bias": true, "mlp_bias": true})",
     13'155'968, 11'524'224, "embed_tokens"},
    {R"({"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336,
       "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32,
       "vocab_size": 32000})",
     28'442'640'896, 872'448'000, "layers.0"},
    {R"({"model_type": "mistral", "hidden_size": 96, "intermediate_size": 667,
       "num_attention_heads": 4, "num_key_value_heads": 4, "num_hidden_layers": 3,
       "vocab_size": 300})",
     2'865'504, 916'608, "layers.0"},
    {R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
       "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32,
       "vocab_size": 32000, "num_local_experts": 8})",
     186'286'883'328, 5'805'080'576, "layers.0"},
    {R"({"model_type": "mixtral", "hidden_size": 48, "intermediate_size": 533,
       "num_attention_heads": 2, "num_key_value_heads": 2, "num_hidden_layers": 3,
       "vocab_size": 1000, "num_local_experts": 4})",
     3'990'432, 1'266'048, "layers.0"},
    {R"({"model_type": "mt5", "d_model": 512, "d_kv": 64, "d_ff": 1024, "num_layers": 8,
       "num_decoder_layers": 8, "num_heads": 6, "relative_attention_num_buckets": 32,
       "vocab_size": 250112, "feed_forward_proj": "gated-gelu"})",
     688'477'696, 512'229'376, "shared"},
    {R"({"model_type": "mt5", "d_model": 64, "d_kv": 16, "d_ff": 691, "num_layers": 3,
       "num_decoder_layers": 4, "num_heads": 2, "relative_attention_num_buckets": 8,
       "vocab_size": 300, "feed_forward_proj": "relu"})",
     2'919'040, 420'160, "decoder.block.0"},
    {R"({"model_type": "phi3", "hidden_size": 3072, "intermediate_size": 8192,
       "num_attention_heads": 32, "num_key_value_heads": 32, "num_hidden_layers": 32,
       "vocab_size": 32064})",
     14'890'316'160, 453'009'408, "layers.0"},
    {R"({"model_type": "qwen2", "hidden_size": 4096, "intermediate_size": 22016,
       "num_attention_heads": 32, "num_key_value_heads": 32, "num_hidden_layers": 32,
       "vocab_size": 151936})",
     45'710'066'176, 2'489'319'424, "embed_tokens"},
    {R"({"model_type": "qwen2", "hidden_size": 64, "intermediate_size": 263,
       "num_attention_heads": 4, "num_key_value_heads": 1, "num_hidden_layers": 4,
       "vocab_size": 1000})",
     1'231'680, 256'000, "embed_tokens"},
    {R"({"model_type": "qwen3", "hidden_size": 4096, "intermediate_size": 22016,
       "num_attention_heads": 32, "num_key_value_heads": 32, "num_hidden_layers": 32,
       "vocab_size": 151936, "head_dim": 128, "attention_bias": false})",
     45'708'526'080, 2'489'319'424, "embed_tokens"},
    {R"({"model_type": "qwen3", "hidden_size": 32, "intermediate_size": 258,
       "num_attention_heads": 2, "num_key_value_heads": 2, "num_hidden_layers": 1,
       "vocab_size": 30011, "head_dim": 48, "attention_bias": true})",
     3'991'872, 3'841'408, "embed_tokens"},
    {R"({"model_type": "roberta", "hidden_size": 768, "intermediate_size": 3072,
       "max_position_embeddings": 512, "num_hidden_layers": 12, "type_vocab_size": 2,
       "vocab_size": 50265})",
     498'587'648, 156'007'424, "embeddings"},
    {R"({"model_type": "t5", "d_model": 512, "d_kv": 64, "d_ff": 2048, "num_layers": 6,
       "num_decoder_layers": 6, "num_heads": 8, "relative_attention_num_buckets": 32,
       "vocab_size": 32128, "feed_forward_proj": "relu"})",
     242'026'496, 65'798'144, "shared"},
    {R"({"model_type": "t5", "d_model": 128, "d_kv": 48, "d_ff": 418, "num_layers": 4,
       "num_decoder_layers": 1, "num_heads": 8, "relative_attention_num_buckets": 32,
       "vocab_size": 30011, "feed_forward_proj": "gated-silu"})",
     23'303'168, 15'365'632, "shared"},
    {R"({"model_type": "vit", "hidden_size": 768, "intermediate_size": 3072,
       "num_hidden_layers": 12, "image_size": 224, "patch_size": 16, "num_channels": 3,
       "qkv_bias": true})",
     345'556'992, 28'351'488, "layers.0"},
    {R"({"model_type": "vit", "hidden_size": 32, "intermediate_size": 594,
       "num_hidden_layers": 1, "image_size": 50, "patch_size": 8, "num_channels": 1,
       "qkv_bias": true})",
     189'640, 171'976, "layers.0"},
    {R"({"model_type": "xlm-roberta", "hidden_size": 768, "intermediate_size": 3072,
       "max_position_embeddings": 512, "num_hidden_layers": 12, "type_vocab_size": 2,
       "vocab_size": 30522})",
     437'937'152, 95'356'928, "embeddings"},
};

ModelSizes Sizes(const std::string& config) {
  const auto tensors = TensorsOfConfig("c", config);
  EXPECT_OK(tensors);
  const auto sizes = SizesOfTensors(*tensors);
  EXPECT_OK(sizes);
  return *sizes;
}

TEST(TensorsOfConfig, HasTheNumbersOfAccelerate) {
  for (const Golden& golden : kGolden) {
    SCOPED_TRACE(golden.config);
    const ModelSizes sizes = Sizes(golden.config);
    EXPECT_EQ(sizes.total, golden.total);
    EXPECT_EQ(sizes.largest, golden.largest);
    EXPECT_EQ(sizes.largest_name, golden.largest_name);
  }
}

TEST(TensorsOfConfig, EveryArchitectureHasANumberOfAccelerate) {
  for (const Architecture& one : Architectures()) {
    const std::string quoted = "\"" + std::string(one.type) + "\"";
    EXPECT_TRUE(std::any_of(std::begin(kGolden), std::end(kGolden), [&](const Golden& golden) {
      return absl::string_view(golden.config).find(quoted) != absl::string_view::npos;
    })) << one.type;
  }
}

// The numbers of Accelerate's own test for bert-base-cased.
TEST(TensorsOfConfig, BertHasTheBytesOfAcceleratesTest) {
  const ModelSizes sizes = Sizes(R"({"model_type": "bert", "hidden_size": 768,
      "intermediate_size": 3072, "max_position_embeddings": 512, "num_hidden_layers": 12,
      "vocab_size": 28996})");
  EXPECT_EQ(sizes.total, 433'249'280u);
  EXPECT_EQ(sizes.largest, 90'669'056u);
  EXPECT_EQ(sizes.largest_name, "embeddings");
}

TEST(TensorsOfConfig, FindsThePartOfAHeadThatIsRotated) {
  const std::string phi = R"({"model_type": "phi3", "hidden_size": 64, "intermediate_size": 1,
      "num_attention_heads": 1, "num_hidden_layers": 0, "vocab_size": 1)";
  const uint64_t whole = Sizes(phi + "}").total;
  EXPECT_EQ(whole - Sizes(phi + R"(, "partial_rotary_factor": 0.5})").total, 32u * 4);
  EXPECT_EQ(whole - Sizes(phi + R"(, "rope_parameters": {"partial_rotary_factor": 0.25}})").total,
            48u * 4);
  EXPECT_THAT(TensorsOfConfig("c", phi + R"(, "partial_rotary_factor": "x"})"),
              StatusIs(kInvalid, "c: partial_rotary_factor is missing or is no number in range"));
}

TEST(TensorsOfConfig, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(TensorsOfConfig("c", R"({"model_type": "xyz"})"),
              StatusIs(kInvalid, HasSubstr("xyz is not known; known are bert, distilbert, ")));
  EXPECT_THAT(TensorsOfConfig("c", R"({"model_type": "bert", "hidden_size": -1})"),
              StatusIs(kInvalid, HasSubstr("is missing or is no number in range")));
  EXPECT_THAT(TensorsOfConfig("c", "{}"), StatusIs(kInvalid, HasSubstr("no model_type")));
}

TEST(TensorsOfConfig, RefusesNumbersThatCannotBe) {
  const std::string gpt = R"({"model_type": "gpt2", "n_positions": 1, "vocab_size": 2147483648)";
  EXPECT_THAT(TensorsOfConfig("c", gpt + R"(, "n_embd": 1, "n_layer": 5000})"),
              StatusIs(kInvalid, "c: n_layer is missing or is no number in range"));
  EXPECT_THAT(TensorsOfConfig("c", gpt + R"(, "n_embd": 2147483649, "n_layer": 1})"),
              StatusIs(kInvalid, "c: n_embd is missing or is no number in range"));
  EXPECT_THAT(TensorsOfConfig("c", R"({"model_type": "vit", "hidden_size": 2147483648,
      "patch_size": 2147483648, "image_size": 1})"),
              StatusIs(kInvalid, HasSubstr("is too large")));
  EXPECT_THAT(TensorsOfConfig("c", R"({"model_type": "llama", "hidden_size": 8, "vocab_size": 1,
      "num_hidden_layers": 1, "num_attention_heads": 0, "intermediate_size": 8})"),
              StatusIs(kInvalid, "c: num_attention_heads is missing or is no number in range"));
}

TEST(TensorsOfConfig, NamesThePlaceOfWrongJson) {
  EXPECT_THAT(TensorsOfConfig("c", "{\n \"model_type\": \"be"),
              StatusIs(kInvalid, "c:2:19: not valid JSON: the text ends too early; copy it again"));
  EXPECT_THAT(TensorsOfConfig("c", ""),
              StatusIs(kInvalid, "c:1:1: not valid JSON: the text ends too early; copy it again"));
  EXPECT_THAT(TensorsOfConfig("c", "{\n  x}"), StatusIs(kInvalid, "c:2:3: not valid JSON"));
  EXPECT_THAT(TensorsOfConfig("c", R"({"a": 1e999})"), StatusIs(kInvalid, HasSubstr("c:1:")));
}

}  // namespace
}  // namespace accel::cli
