// The model and the dataset of char_transformer. The model is a small GPT over characters: a
// decoder of pre-norm blocks whose head is tied to the embedding. The dataset is a text as
// windows of characters.
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "accel/activation_checkpointing.h"

namespace examples {

struct TransformerOptions {
  std::int64_t vocabulary = 0;
  std::int64_t context = 64;
  std::int64_t width = 64;  // A multiple of `heads`.
  std::int64_t heads = 4;
  std::int64_t blocks = 2;
  bool recompute = false;  // Backward computes the activations of the blocks again.
};

// Causal self-attention with several heads.
struct AttentionImpl : torch::nn::Module {
  AttentionImpl(std::int64_t width, std::int64_t num_heads)
      : heads(num_heads),
        project_in(register_module("project_in", torch::nn::Linear(width, 3 * width))),
        project_out(register_module("project_out", torch::nn::Linear(width, width))) {}

  torch::Tensor forward(const torch::Tensor& x) {  // [batch, time, width]
    // Splits [batch, time, 3 * width] into three of [batch, heads, time, width / heads].
    const auto parts = project_in(x).unflatten(2, {3, heads, -1}).permute({2, 0, 3, 1, 4}).unbind();
    const auto mixed = torch::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0.0,
                                                           /*is_causal=*/true);
    return project_out(mixed.transpose(1, 2).flatten(2));
  }

  std::int64_t heads;
  torch::nn::Linear project_in, project_out;
};
TORCH_MODULE(Attention);

struct BlockImpl : torch::nn::Module {
  BlockImpl(std::int64_t width, std::int64_t heads)
      : norm1(register_module("norm1", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})))),
        attention(register_module("attention", Attention(width, heads))),
        norm2(register_module("norm2", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})))),
        mlp(register_module(
            "mlp", torch::nn::Sequential(torch::nn::Linear(width, 4 * width), torch::nn::GELU(),
                                         torch::nn::Linear(4 * width, width)))) {}

  torch::Tensor forward(torch::Tensor x) {
    x = x + attention(norm1(x));
    return x + mlp->forward(norm2(x));
  }

  torch::nn::LayerNorm norm1;
  Attention attention;
  torch::nn::LayerNorm norm2;
  torch::nn::Sequential mlp;
};
TORCH_MODULE(Block);

struct TransformerImpl : torch::nn::Module {
  explicit TransformerImpl(const TransformerOptions& options)
      : characters(
            register_module("characters", torch::nn::Embedding(options.vocabulary, options.width))),
        positions(
            register_module("positions", torch::nn::Embedding(options.context, options.width))),
        blocks(register_module("blocks", torch::nn::Sequential())),
        norm(register_module("norm",
                             torch::nn::LayerNorm(torch::nn::LayerNormOptions({options.width})))),
        recompute(options.recompute) {
    for (std::int64_t i = 0; i < options.blocks; ++i)
      blocks->push_back(Block(options.width, options.heads));
    torch::NoGradGuard no_grad;
    for (auto& weight : parameters()) {
      if (weight.dim() > 1) weight.normal_(0, 0.02);
    }
  }

  // Maps indices of characters [batch, time], time <= context, to the logits of the next character
  // [batch, time, vocabulary].
  torch::Tensor forward(const torch::Tensor& indices) {
    const auto places = torch::arange(indices.size(1), indices.options());
    torch::Tensor x = characters(indices) + positions(places);
    for (torch::nn::AnyModule& block : *blocks) {
      const auto forward = [&block](const torch::Tensor& in) { return block.forward(in); };
      x = recompute ? accel::checkpoint(forward, x) : forward(x);
    }
    return torch::nn::functional::linear(norm(x), characters->weight);
  }

  torch::nn::Embedding characters, positions;
  torch::nn::Sequential blocks;
  torch::nn::LayerNorm norm;
  const bool recompute;
};
TORCH_MODULE(Transformer);

// A text as indices of its characters.
struct Characters {
  explicit Characters(const std::string& text) : table(256, 0) {
    for (const unsigned char c : text) table[c] = 1;
    for (int c = 0; c < 256; ++c) {
      if (table[c] != 0)
        table[c] = static_cast<std::int64_t>(alphabet.size()), alphabet += static_cast<char>(c);
    }
    indices = encode(text);
  }

  torch::Tensor encode(const std::string& text) const {
    torch::Tensor encoded = torch::empty(static_cast<std::int64_t>(text.size()), torch::kLong);
    std::int64_t* to = encoded.data_ptr<std::int64_t>();
    for (const unsigned char c : text) *to++ = table[c];
    return encoded;
  }

  std::string alphabet;
  std::vector<std::int64_t> table;  // From each byte to its index in the alphabet.
  torch::Tensor indices;
};

// Consecutive windows of a text. The target of a window is the window shifted by one character.
class Windows : public torch::data::datasets::Dataset<Windows> {
 public:
  Windows(torch::Tensor indices, std::int64_t context) : indices_(indices), context_(context) {}

  torch::data::Example<> get(std::size_t index) override {
    const std::int64_t begin = static_cast<std::int64_t>(index) * context_;
    return {indices_.narrow(0, begin, context_), indices_.narrow(0, begin + 1, context_)};
  }
  std::optional<std::size_t> size() const override { return (indices_.size(0) - 1) / context_; }

 private:
  torch::Tensor indices_;
  std::int64_t context_;
};

}  // namespace examples
