// A folder with a model of Hugging Face's Transformers: config.json, and model.safetensors or an
// index with its files. Functions throw std::runtime_error, which names the file.
#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace examples {

// The fields of config.json that BERT is built from, with the defaults of Transformers.
struct BertConfig {
  std::int64_t vocab_size = 30522;
  std::int64_t hidden_size = 768;  // A multiple of num_attention_heads.
  std::int64_t num_hidden_layers = 12;
  std::int64_t num_attention_heads = 12;
  std::int64_t intermediate_size = 3072;
  std::int64_t max_position_embeddings = 512;
  std::int64_t type_vocab_size = 2;
  std::int64_t num_labels = 2;  // The number of entries of id2label.
  double layer_norm_eps = 1e-12;
  double initializer_range = 0.02;
  double hidden_dropout_prob = 0.1;
  double attention_probs_dropout_prob = 0.1;
  double classifier_dropout = 0.1;  // If it is not set, hidden_dropout_prob.
};

// Reads config.json. Refuses a model that is no BERT, or one with an activation other than "gelu"
// or positions that are not absolute.
BertConfig read_bert_config(const std::string& folder);

// Writes a copy of `from`/config.json to the folder `to`, for a model that classifies.
void write_bert_config(const std::string& from, const std::string& to, std::int64_t num_labels);

// Returns the names of all tensors, with the names that Transformers gives them now. Old
// checkpoints have LayerNorm.gamma and LayerNorm.beta for LayerNorm.weight and LayerNorm.bias.
std::set<std::string> names_of_weights(const std::string& folder);

}  // namespace examples
