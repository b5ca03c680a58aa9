#include "cli/estimate/core/architectures.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/render/escape.h"

namespace accel::cli {
namespace {

using nlohmann::json;

constexpr uint64_t kMaxNumber = uint64_t{1} << 31;
constexpr uint64_t kMaxLayers = 4096;

// Reads numbers and collects tensors. The first number that is missing or wrong is the error.
class Builder {
 public:
  Builder(absl::string_view file, const json& config) : file_(file), config_(config) {}

  uint64_t Number(const char* name, uint64_t most = kMaxNumber) {
    const auto found = config_.find(name);
    if (found == config_.end() || found->is_null()) return Refuse(name);
    return Checked(name, *found, most);
  }
  uint64_t NumberOr(const char* name, uint64_t fallback) {
    const auto found = config_.find(name);
    return found == config_.end() || found->is_null() ? fallback
                                                      : Checked(name, *found, kMaxNumber);
  }
  bool Is(const char* name) const { return config_.value(name, json(false)) == json(true); }

  void Add(std::string name, uint64_t elements, uint64_t integer_bytes = 0) {
    tensors_.push_back({std::move(name), elements, integer_bytes});
  }
  void Linear(const std::string& name, uint64_t in, uint64_t out, bool bias) {
    Add(name + ".weight", in * out);
    if (bias) Add(name + ".bias", out);
  }
  void LayerNorm(const std::string& name, uint64_t size) {
    Add(name + ".weight", size);
    Add(name + ".bias", size);
  }

  absl::StatusOr<std::vector<TensorSize>> Take() {
    if (!error_.ok()) return error_;
    return std::move(tensors_);
  }

 private:
  uint64_t Checked(const char* name, const json& value, uint64_t most) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > most) return Refuse(name);
    return value.get<uint64_t>();
  }
  uint64_t Refuse(const char* name) {
    if (error_.ok()) {
      error_ = absl::InvalidArgumentError(
          absl::StrCat(file_, ": ", name, " is missing or is no number in range"));
    }
    return 0;
  }

  const absl::string_view file_;
  const json& config_;
  std::vector<TensorSize> tensors_;
  absl::Status error_;
};

void Bert(Builder& b) {
  const uint64_t hidden = b.Number("hidden_size"), inner = b.Number("intermediate_size");
  const uint64_t positions = b.Number("max_position_embeddings");
  b.Add("embeddings.word_embeddings.weight", b.Number("vocab_size") * hidden);
  b.Add("embeddings.position_embeddings.weight", positions * hidden);
  b.Add("embeddings.token_type_embeddings.weight", b.NumberOr("type_vocab_size", 2) * hidden);
  b.LayerNorm("embeddings.LayerNorm", hidden);
  b.Add("embeddings.position_ids", positions, sizeof(int64_t));
  b.Add("embeddings.token_type_ids", positions, sizeof(int64_t));
  const uint64_t layers = b.Number("num_hidden_layers", kMaxLayers);
  for (uint64_t i = 0; i < layers; ++i) {
    const std::string layer = absl::StrCat("encoder.layer.", i);
    for (const char* name : {".attention.self.query", ".attention.self.key",
                             ".attention.self.value", ".attention.output.dense"}) {
      b.Linear(layer + name, hidden, hidden, true);
    }
    b.LayerNorm(layer + ".attention.output.LayerNorm", hidden);
    b.Linear(layer + ".intermediate.dense", hidden, inner, true);
    b.Linear(layer + ".output.dense", inner, hidden, true);
    b.LayerNorm(layer + ".output.LayerNorm", hidden);
  }
  b.Linear("pooler.dense", hidden, hidden, true);
}

void Gpt2(Builder& b) {
  const uint64_t width = b.Number("n_embd"), inner = b.NumberOr("n_inner", 4 * width);
  b.Add("wte.weight", b.Number("vocab_size") * width);
  b.Add("wpe.weight", b.Number("n_positions") * width);
  const uint64_t layers = b.Number("n_layer", kMaxLayers);
  for (uint64_t i = 0; i < layers; ++i) {
    const std::string layer = absl::StrCat("h.", i);
    b.LayerNorm(layer + ".ln_1", width);
    b.Linear(layer + ".attn.c_attn", width, 3 * width, true);
    b.Linear(layer + ".attn.c_proj", width, width, true);
    b.LayerNorm(layer + ".ln_2", width);
    b.Linear(layer + ".mlp.c_fc", width, inner, true);
    b.Linear(layer + ".mlp.c_proj", inner, width, true);
  }
  b.LayerNorm("ln_f", width);
}

// Llama, and models of the same shape.
void Llama(Builder& b, bool query_bias) {
  const uint64_t hidden = b.Number("hidden_size"), inner = b.Number("intermediate_size");
  const uint64_t heads = std::max<uint64_t>(b.Number("num_attention_heads"), 1);
  const uint64_t head = b.NumberOr("head_dim", hidden / heads);
  const uint64_t keys = b.NumberOr("num_key_value_heads", heads) * head;
  const bool bias = b.Is("attention_bias"), mlp_bias = b.Is("mlp_bias");
  b.Add("embed_tokens.weight", b.Number("vocab_size") * hidden);
  const uint64_t layers = b.Number("num_hidden_layers", kMaxLayers);
  for (uint64_t i = 0; i < layers; ++i) {
    const std::string layer = absl::StrCat("layers.", i);
    b.Linear(layer + ".self_attn.q_proj", hidden, heads * head, bias || query_bias);
    b.Linear(layer + ".self_attn.k_proj", hidden, keys, bias || query_bias);
    b.Linear(layer + ".self_attn.v_proj", hidden, keys, bias || query_bias);
    b.Linear(layer + ".self_attn.o_proj", heads * head, hidden, bias);
    for (const char* name : {".mlp.gate_proj", ".mlp.up_proj"}) {
      b.Linear(layer + name, hidden, inner, mlp_bias);
    }
    b.Linear(layer + ".mlp.down_proj", inner, hidden, mlp_bias);
    b.Add(layer + ".input_layernorm.weight", hidden);
    b.Add(layer + ".post_attention_layernorm.weight", hidden);
  }
  b.Add("norm.weight", hidden);
  b.Add("rotary_emb.inv_freq", head / 2);
}

}  // namespace

absl::StatusOr<std::vector<TensorSize>> TensorsOfConfig(absl::string_view file,
                                                        absl::string_view text) {
  const json config = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object() || !config.contains("model_type") || !config["model_type"].is_string()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": it has no model_type, so it describes no model of Transformers"));
  }
  const auto type = config["model_type"].get<std::string>();
  Builder builder(file, config);
  if (type == "bert") {
    Bert(builder);
  } else if (type == "gpt2") {
    Gpt2(builder);
  } else if (type == "llama" || type == "mistral" || type == "qwen2") {
    Llama(builder, type == "qwen2");
  } else {
    return absl::InvalidArgumentError(absl::StrCat(
        file, ": the architecture ", EscapeControls(type.substr(0, 64)),
        " is not known; known are bert, gpt2, llama, mistral and qwen2. A safetensors file of the "
        "model works for every architecture."));
  }
  return builder.Take();
}

}  // namespace accel::cli
