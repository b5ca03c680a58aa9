// BERT with a head that classifies sentences. Modules have the names that Hugging Face's
// Transformers gives them, so that files of weights of either side fit the other.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string>

#include "accel/activation_checkpointing.h"
#include "examples/bert_folder.h"

namespace examples {

inline torch::nn::LayerNorm bert_norm(const BertConfig& config) {
  return torch::nn::LayerNorm(
      torch::nn::LayerNormOptions({config.hidden_size}).eps(config.layer_norm_eps));
}

// The sum of the vectors of a token, its place and its segment.
struct BertEmbeddingsImpl : torch::nn::Module {
  explicit BertEmbeddingsImpl(const BertConfig& config)
      : word_embeddings(register_module(
            "word_embeddings", torch::nn::Embedding(config.vocab_size, config.hidden_size))),
        position_embeddings(register_module(
            "position_embeddings",
            torch::nn::Embedding(config.max_position_embeddings, config.hidden_size))),
        token_type_embeddings(
            register_module("token_type_embeddings",
                            torch::nn::Embedding(config.type_vocab_size, config.hidden_size))),
        norm(register_module("LayerNorm", bert_norm(config))),
        dropout(register_module("dropout", torch::nn::Dropout(config.hidden_dropout_prob))) {}

  torch::Tensor forward(const torch::Tensor& tokens, const torch::Tensor& segments) {
    const auto places = torch::arange(tokens.size(1), tokens.options());
    return dropout(norm(word_embeddings(tokens) + token_type_embeddings(segments) +
                        position_embeddings(places)));
  }

  torch::nn::Embedding word_embeddings, position_embeddings, token_type_embeddings;
  torch::nn::LayerNorm norm;
  torch::nn::Dropout dropout;
};
TORCH_MODULE(BertEmbeddings);

struct BertSelfAttentionImpl : torch::nn::Module {
  explicit BertSelfAttentionImpl(const BertConfig& config)
      : heads(config.num_attention_heads),
        dropout(config.attention_probs_dropout_prob),
        query(register_module("query", torch::nn::Linear(config.hidden_size, config.hidden_size))),
        key(register_module("key", torch::nn::Linear(config.hidden_size, config.hidden_size))),
        value(register_module("value", torch::nn::Linear(config.hidden_size, config.hidden_size))) {
  }

  // Takes [batch, time, width]. `mask` is true for the keys [batch, 1, 1, time] that count.
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& mask) {
    const auto by_head = [this](const torch::Tensor& each) {
      return each.unflatten(2, {heads, -1}).transpose(1, 2);
    };
    const auto mixed = torch::scaled_dot_product_attention(
        by_head(query(x)), by_head(key(x)), by_head(value(x)), mask, is_training() ? dropout : 0.0);
    return mixed.transpose(1, 2).flatten(2);
  }

  const std::int64_t heads;
  const double dropout;
  torch::nn::Linear query, key, value;
};
TORCH_MODULE(BertSelfAttention);

// The end of either half of a layer. It returns to the width of the model, and adds the input.
struct BertOutputImpl : torch::nn::Module {
  BertOutputImpl(const BertConfig& config, std::int64_t inputs)
      : dense(register_module("dense", torch::nn::Linear(inputs, config.hidden_size))),
        norm(register_module("LayerNorm", bert_norm(config))),
        dropout(register_module("dropout", torch::nn::Dropout(config.hidden_dropout_prob))) {}

  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& added) {
    return norm(dropout(dense(x)) + added);
  }

  torch::nn::Linear dense;
  torch::nn::LayerNorm norm;
  torch::nn::Dropout dropout;
};
TORCH_MODULE(BertOutput);

struct BertAttentionImpl : torch::nn::Module {
  explicit BertAttentionImpl(const BertConfig& config)
      : self(register_module("self", BertSelfAttention(config))),
        output(register_module("output", BertOutput(config, config.hidden_size))) {}

  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& mask) {
    return output(self(x, mask), x);
  }

  BertSelfAttention self;
  BertOutput output;
};
TORCH_MODULE(BertAttention);

struct BertIntermediateImpl : torch::nn::Module {
  explicit BertIntermediateImpl(const BertConfig& config)
      : dense(register_module("dense",
                              torch::nn::Linear(config.hidden_size, config.intermediate_size))) {}

  torch::Tensor forward(const torch::Tensor& x) { return torch::gelu(dense(x)); }

  torch::nn::Linear dense;
};
TORCH_MODULE(BertIntermediate);

// A layer. Sharded training uses its class name to make it a unit.
struct BertLayerImpl : torch::nn::Module {
  explicit BertLayerImpl(const BertConfig& config)
      : attention(register_module("attention", BertAttention(config))),
        intermediate(register_module("intermediate", BertIntermediate(config))),
        output(register_module("output", BertOutput(config, config.intermediate_size))) {}

  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& mask) {
    const auto attended = attention(x, mask);
    return output(intermediate(attended), attended);
  }

  BertAttention attention;
  BertIntermediate intermediate;
  BertOutput output;
};
TORCH_MODULE(BertLayer);

struct BertEncoderImpl : torch::nn::Module {
  explicit BertEncoderImpl(const BertConfig& config)
      : layer(register_module("layer", torch::nn::ModuleList())) {
    for (std::int64_t i = 0; i < config.num_hidden_layers; ++i) layer->push_back(BertLayer(config));
  }

  torch::Tensor forward(torch::Tensor x, const torch::Tensor& mask) {
    for (const auto& each : *layer) {
      const auto compute = [each](const torch::Tensor& in, const torch::Tensor& keys) {
        return each->as<BertLayer>()->forward(in, keys);
      };
      x = recomputes ? accel::checkpoint(compute, x, mask) : compute(x, mask);
    }
    return x;
  }

  torch::nn::ModuleList layer;
  bool recomputes = false;  // Backward computes the activations of the layers again.
};
TORCH_MODULE(BertEncoder);

struct BertPoolerImpl : torch::nn::Module {
  explicit BertPoolerImpl(const BertConfig& config)
      : dense(register_module("dense", torch::nn::Linear(config.hidden_size, config.hidden_size))) {
  }

  torch::Tensor forward(const torch::Tensor& x) { return torch::tanh(dense(x.select(1, 0))); }

  torch::nn::Linear dense;
};
TORCH_MODULE(BertPooler);

struct BertModelImpl : torch::nn::Module {
  explicit BertModelImpl(const BertConfig& config)
      : embeddings(register_module("embeddings", BertEmbeddings(config))),
        encoder(register_module("encoder", BertEncoder(config))),
        pooler(register_module("pooler", BertPooler(config))) {}

  torch::Tensor forward(const torch::Tensor& tokens, const torch::Tensor& segments,
                        const torch::Tensor& mask) {
    return pooler(encoder(embeddings(tokens, segments), mask));
  }

  BertEmbeddings embeddings;
  BertEncoder encoder;
  BertPooler pooler;
};
TORCH_MODULE(BertModel);

struct BertForSequenceClassificationImpl : torch::nn::Module {
  explicit BertForSequenceClassificationImpl(const BertConfig& config)
      : bert(register_module("bert", BertModel(config))),
        dropout(register_module("dropout", torch::nn::Dropout(config.classifier_dropout))),
        classifier(register_module("classifier",
                                   torch::nn::Linear(config.hidden_size, config.num_labels))) {}

  // Replaces the head by a new one, which has memory and the initial values of Transformers.
  void begin_classifier(const BertConfig& config) {
    torch::NoGradGuard no_grad;
    torch::nn::Linear head(config.hidden_size, config.num_labels);
    head->weight.normal_(0, config.initializer_range);
    head->bias.zero_();
    classifier = replace_module("classifier", head);
  }

  // Maps sentences [batch, 2, time] to logits [batch, labels]. [:, 0] has the tokens, and [:, 1]
  // the segment of each token, or -1 after the end of the sentence.
  torch::Tensor forward(const torch::Tensor& sentences) {
    const auto segments = sentences.select(1, 1);
    const auto mask = (segments >= 0).unsqueeze(1).unsqueeze(1);
    return classifier(dropout(bert(sentences.select(1, 0), segments.clamp_min(0), mask)));
  }

  BertModel bert;
  torch::nn::Dropout dropout;
  torch::nn::Linear classifier;
};
TORCH_MODULE(BertForSequenceClassification);

}  // namespace examples
