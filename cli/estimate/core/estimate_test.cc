#include "cli/estimate/core/architectures.h"
#include "cli/estimate/core/memory_table.h"
#include "cli/estimate/core/model_sizes.h"
#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using ::accel::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

constexpr char kBertBaseCased[] = R"({"model_type": "bert", "hidden_size": 768,
  "intermediate_size": 3072, "max_position_embeddings": 512, "num_hidden_layers": 12,
  "type_vocab_size": 2, "vocab_size": 28996})";

ModelSizes Sizes(const std::string& config) {
  const auto tensors = TensorsOfConfig("c", config);
  EXPECT_OK(tensors);
  const auto sizes = SizesOfTensors(*tensors);
  EXPECT_OK(sizes);
  return *sizes;
}

uint64_t Parameters(const std::string& config) {
  uint64_t parameters = 0;
  const auto tensors = TensorsOfConfig("c", config);
  EXPECT_OK(tensors);
  for (const TensorSize& tensor : *tensors) {
    if (tensor.integer_bytes == 0 && tensor.name != "rotary_emb.inv_freq") {
      parameters += tensor.elements;
    }
  }
  return parameters;
}

// The numbers of Accelerate's own test for bert-base-cased.
TEST(TensorsOfConfig, BertHasTheBytesOfAccelerate) {
  const ModelSizes sizes = Sizes(kBertBaseCased);
  EXPECT_EQ(sizes.total, 433'249'280u);
  EXPECT_EQ(sizes.largest, 90'669'056u);
  EXPECT_EQ(sizes.largest_name, "embeddings");
}

TEST(TensorsOfConfig, HasTheParametersOfPublishedModels) {
  EXPECT_EQ(Parameters(R"({"model_type": "gpt2", "n_embd": 768, "n_positions": 1024,
                           "n_layer": 12, "vocab_size": 50257})"),
            124'439'808u);
  // Llama 2 7B has 6,738,415,616 parameters with its head of 32000 × 4096.
  EXPECT_EQ(Parameters(R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008,
                           "num_attention_heads": 32, "num_hidden_layers": 32,
                           "vocab_size": 32000})"),
            6'738'415'616u - 32'000u * 4'096u);
  // Qwen2 0.5B has 494,032,768, with the head tied to the embeddings.
  EXPECT_EQ(Parameters(R"({"model_type": "qwen2", "hidden_size": 896, "intermediate_size": 4864,
                           "num_attention_heads": 14, "num_key_value_heads": 2,
                           "num_hidden_layers": 24, "vocab_size": 151936})"),
            494'032'768u);
}

TEST(TensorsOfConfig, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(TensorsOfConfig("c", R"({"model_type": "xyz"})"),
              StatusIs(kInvalid, HasSubstr("xyz is not known; known are bert")));
  EXPECT_THAT(TensorsOfConfig("c", R"({"model_type": "bert", "hidden_size": -1})"),
              StatusIs(kInvalid, HasSubstr("hidden_size is missing or is no number")));
  EXPECT_THAT(TensorsOfConfig("c", "{}"), StatusIs(kInvalid, HasSubstr("no model_type")));
}

TEST(ReadSafetensorsHeader, AddsUpLayers) {
  ASSERT_OK_AND_ASSIGN(const auto tensors,
                       ReadSafetensorsHeader("f", R"({"__metadata__": {"format": "pt"},
                   "h.0.a.weight": {"dtype": "F16", "shape": [10, 10], "data_offsets": [0, 200]},
                   "h.0.b.weight": {"dtype": "F32", "shape": [5], "data_offsets": [200, 220]},
                   "ids": {"dtype": "I64", "shape": [3], "data_offsets": [220, 244]}})"));
  ASSERT_OK_AND_ASSIGN(const ModelSizes sizes, SizesOfTensors(tensors));
  EXPECT_EQ(sizes.total, 444u);
  EXPECT_EQ(sizes.largest, 420u);
  EXPECT_EQ(sizes.largest_name, "h.0");
}

TEST(ReadSafetensorsHeader, RefusesBadHeaders) {
  for (const char* text : {"", "[]", R"({"a": 1})", R"({"a": {"dtype": "F99", "shape": []}})",
                           R"({"a": {"dtype": "F32", "shape": [-1]}})",
                           R"({"a": {"dtype": "F32", "shape": [4294967296, 4294967296]}})"}) {
    EXPECT_THAT(ReadSafetensorsHeader("f", text), StatusIs(kInvalid, HasSubstr("f: "))) << text;
  }
  EXPECT_THAT(SizesOfTensors({{"a", uint64_t{1} << 62, 0}}),
              StatusIs(kInvalid, HasSubstr("too large")));
}

TEST(ReadIndex, ListsFilesInsideTheFolder) {
  EXPECT_THAT(*ReadIndex("i", R"({"weight_map": {"a": "1.safetensors", "b": "2.safetensors",
                                                 "c": "1.safetensors"}})"),
              ElementsAre("1.safetensors", "2.safetensors"));
  for (const char* text : {"{}", R"({"weight_map": {"a": "../x"}})",
                           R"({"weight_map": {"a": "/x"}})", R"({"weight_map": {"a": 1}})"}) {
    EXPECT_THAT(ReadIndex("i", text), StatusIs(kInvalid, HasSubstr("i: "))) << text;
  }
}

TEST(MemoryTable, PrintsAcceleratesNumbers) {
  EXPECT_EQ(HumanBytes(433'249'280), "413.18 MB");
  EXPECT_EQ(HumanBytes(90'669'056), "86.47 MB");
  EXPECT_EQ(HumanBytes(512), "512.0 bytes");
  const std::string table =
      MemoryTable("bert", {433'249'280, 90'669'056, "embeddings"}, {"float32", "int4"});
  EXPECT_THAT(table, HasSubstr("Memory usage of bert (largest layer: embeddings)\n\n"));
  EXPECT_THAT(table, HasSubstr("float32       86.47 MB   413.18 MB              1.61 GB\n"));
  EXPECT_THAT(table, HasSubstr("int4          10.81 MB    51.65 MB                  N/A\n"));
}

}  // namespace
}  // namespace accel::cli
