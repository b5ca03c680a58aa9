// A transformer of plain LibTorch modules, which the workers of the sharded benchmarks train. Its
// peer is bench/workers/transformer.py.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include "accel/sharding.h"

constexpr std::int64_t kVocabulary = 1024, kHeads = 4;

struct LayerImpl : torch::nn::Module {
  explicit LayerImpl(std::int64_t width)
      : norm1(register_module("norm1", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})))),
        norm2(register_module("norm2", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})))),
        in(register_module("in", torch::nn::Linear(width, 3 * width))),
        out(register_module("out", torch::nn::Linear(width, width))),
        up(register_module("up", torch::nn::Linear(width, 4 * width))),
        down(register_module("down", torch::nn::Linear(4 * width, width))) {}

  torch::Tensor forward(const torch::Tensor& x) {  // [batch, time, width]
    const auto parts = in(norm1(x)).unflatten(2, {3, kHeads, -1}).permute({2, 0, 3, 1, 4}).unbind();
    const auto mixed = torch::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0.0,
                                                           /*is_causal=*/true);
    const auto h = x + out(mixed.transpose(1, 2).flatten(2));
    return h + down(torch::gelu(up(norm2(h))));
  }

  torch::nn::LayerNorm norm1, norm2;
  torch::nn::Linear in, out, up, down;
};
TORCH_MODULE(Layer);

struct NetworkImpl : torch::nn::Module {
  NetworkImpl(std::int64_t num_layers, std::int64_t width)
      : embed(register_module("embed", torch::nn::Embedding(kVocabulary, width))),
        layers(register_module("layers", torch::nn::ModuleList())),
        head(register_module("head", torch::nn::Linear(width, kVocabulary))) {
    for (std::int64_t i = 0; i < num_layers; ++i) layers->push_back(Layer(width));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    torch::Tensor h = embed(x);
    for (const auto& layer : *layers) h = layer->as<Layer>()->forward(h);
    return head(h);
  }
  torch::nn::Embedding embed;
  torch::nn::ModuleList layers;
  torch::nn::Linear head;
};
TORCH_MODULE(Network);

// Returns options that make each layer a unit.
inline accel::ShardingOptions sharded_by_layer(accel::ShardingStrategy strategy) {
  return {.strategy = strategy,
          .auto_wrap_policy = accel::WrapPolicy::kTransformerBased,
          .transformer_layer_cls_to_wrap = {"Layer"}};
}
