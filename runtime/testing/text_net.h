// A small language model whose blocks are units of sharded training.
#pragma once

#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/normalization.h>

#include <cstdint>

#include "accel/activation_checkpointing.h"
#include "runtime/testing/training.h"

namespace accel::runtime {

struct BlockImpl : torch::nn::Module {
  explicit BlockImpl(std::int64_t width)
      : norm(register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})))),
        up(register_module("up", torch::nn::Linear(width, 3 * width))),
        down(register_module("down", torch::nn::Linear(3 * width, width))) {}
  torch::Tensor forward(const torch::Tensor& x) { return x + down(torch::gelu(up(norm(x)))); }
  torch::nn::LayerNorm norm;
  torch::nn::Linear up, down;
};
TORCH_MODULE(Block);

// An embedding, blocks that forward() calls directly, and a head. If `is_tied`, the weight of the
// embedding is a parameter of the last block too.
struct TextImpl : torch::nn::Module {
  static constexpr std::int64_t kWords = 11;

  explicit TextImpl(int num_blocks = 3, std::int64_t width = 8, bool is_tied = false)
      : embed(register_module("embed", torch::nn::Embedding(kWords, width))),
        blocks(register_module("blocks", torch::nn::ModuleList())),
        head(register_module("head", torch::nn::Linear(width, kWords))) {
    for (int i = 0; i < num_blocks; ++i) blocks->push_back(Block(width));
    if (is_tied) tied = blocks[num_blocks - 1]->register_parameter("tied", embed->weight);
  }
  torch::Tensor forward(const torch::Tensor& x) {
    torch::Tensor h = embed(x);
    for (const auto& block : *blocks) {
      const auto compute = [block](const torch::Tensor& in) {
        return block->as<Block>()->forward(in);
      };
      h = is_checkpointed ? accel::checkpoint(compute, h) : compute(h);
    }
    return tied.defined() ? head(h) + torch::nn::functional::linear(h, tied) : head(h);
  }
  torch::Tensor loss(const torch::Tensor& x) {
    return torch::nn::functional::cross_entropy(forward(x).flatten(0, 1), x.flatten());
  }
  torch::nn::Embedding embed;
  torch::nn::ModuleList blocks;
  torch::nn::Linear head;
  torch::Tensor tied;
  bool is_checkpointed = false;  // If true, backward computes the activations of blocks again.
};
TORCH_MODULE(Text);

// The words that a rank trains on in a step.
inline torch::Tensor words_of(int step, int rank) {
  torch::manual_seed(100 * step + rank);
  return torch::randint(0, TextImpl::kWords, {4, 6}, torch::kLong);
}

}  // namespace accel::runtime
