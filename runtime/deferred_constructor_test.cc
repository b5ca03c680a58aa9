// What constructors do that are recorded and executed later, and what they may not do.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorIndexing.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_unique.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/rnn.h>
#include <torch/nn/modules/transformerlayer.h>

#include <cmath>
#include <memory>
#include <vector>

#include "accel/accelerator.h"
#include "accel/deferred_init.h"
#include "accel/without_memory.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/text_net.h"

namespace accel::runtime {
namespace {

using ::testing::HasSubstr;

Text tied_text() { return Text(3, 8, /*is_tied=*/true); }

// What constructors do besides calling modules.
struct ManyImpl : torch::nn::Module {
  ManyImpl() {
    embed = register_module("embed",
                            torch::nn::Embedding(torch::nn::EmbeddingOptions(7, 4).padding_idx(2)));
    lstm = register_module("lstm", torch::nn::LSTM(4, 3));
    register_module("conv", torch::nn::Conv2d(2, 3, 3));
    register_module("norm", torch::nn::BatchNorm1d(3));
    register_module("layers", torch::nn::TransformerEncoderLayer(4, 2));
    // Temporary tensors, views and in-place operators.
    const torch::Tensor position = torch::arange(0, 6, torch::kFloat).unsqueeze(1);
    const torch::Tensor rate = torch::exp(torch::arange(0, 4, 2) * (-std::log(10000.0) / 4));
    torch::Tensor encoding = torch::zeros({6, 4});
    using torch::indexing::None;
    using torch::indexing::Slice;
    encoding.index_put_({Slice(), Slice(0, None, 2)}, torch::sin(position * rate));
    encoding.index_put_({Slice(), Slice(1, None, 2)}, torch::cos(position * rate));
    register_buffer("encoding", encoding.unsqueeze(0).transpose(0, 1));
    register_buffer("mask", torch::ones({3, 3}).triu(1).to(torch::kBool));
    register_buffer("stacked", torch::stack({torch::eye(2), torch::full({2, 2}, 3.0)}));
    register_buffer("ids", (torch::arange(5) * 2.5).to(torch::kLong).expand({2, 5}).clone());
    // Values of the program.
    register_buffer("mean", torch::tensor({0.485, 0.456, 0.406}));
    register_buffer("rows", torch::tensor({{1.0, 2.0}, {3.0, 4.0}}));
    register_buffer("count", torch::tensor(7));
    std::vector<float> numbers = {1, 2, 3, 4};
    register_buffer("numbers", torch::tensor(numbers) * 2);
    register_buffer("blob", torch::from_blob(numbers.data(), {4}).clone());
    torch::Tensor weighted = torch::randn({4});
    weighted.mul_(torch::from_blob(numbers.data(), {4}));
    weighted.add_(torch::from_blob(numbers.data(), {4}).to(torch::kDouble).to(torch::kFloat));
    numbers = {0, 0, 0, 0};
    register_parameter("weighted", weighted);
    torch::Tensor drawn = torch::empty({3}, torch::kCPU);  // As for torch::tensor().
    register_parameter("drawn", torch::nn::init::normal_(drawn));

    // Initialisation.
    auto weight = torch::nn::init::orthogonal_(register_parameter("weight", torch::empty({4, 6})));
    torch::nn::init::xavier_normal_(register_parameter("other", torch::empty({4, 6})));
    torch::nn::init::eye_(register_parameter("unit", torch::empty({3, 3})));
    torch::nn::init::dirac_(register_parameter("kernel", torch::empty({2, 2, 3})));
    register_parameter("turned", weight.detach().t());  // Shares memory.
    {
      const torch::NoGradGuard no_graph;
      weight[1].fill_(5);
      embed->weight.slice(0, 4).mul_(0.5).add_(torch::rand_like(embed->weight.slice(0, 4)));
      auto [rank, order] = torch::sort(embed->weight, 0);
      register_buffer("sorted", rank);
      register_buffer("order", order);
      embed->weight.mul_(2);  // The buffers are not views of it.
    }
    register_without_shapes(encoding);
    torch::manual_seed(11);
    register_parameter("seeded", torch::randn({3}).bernoulli_(0.5) + torch::rand({3}));
    apply([](torch::nn::Module& module) {
      if (auto* const norm = module.as<torch::nn::BatchNorm1d>()) norm->running_var.uniform_(1, 2);
    });
    auto cast = register_module("cast", torch::nn::BatchNorm1d(3));
    cast->register_buffer("shift", torch::tensor({0.5, 0.25}));
    cast->to(torch::kDouble);
  }

  // LibTorch does not compute the shapes of these operators.
  void register_without_shapes(const torch::Tensor& encoding) {
    const torch::Tensor mixed = torch::randperm(6);
    register_buffer("mixed", mixed);
    register_buffer("flipped",
                    (encoding * 2).flip({0, 1}) + torch::rand({6, 1}).expand({6, 4}).flip(0));
    register_buffer("rolled", encoding.index_select(0, mixed).roll({1}, {0}));
  }

  torch::nn::Embedding embed = nullptr;
  torch::nn::LSTM lstm = nullptr;
};
TORCH_MODULE(Many);

TEST(DeferredConstructorTest, ConstructorsMayDoWhatTheyUsuallyDo) {
  for (const bool is_sharded : {false, true}) {
    on_ranks(2, [&] {
      torch::manual_seed(3);
      const Many expected;
      const torch::Tensor next = torch::randn({4});
      AcceleratorOptions options{.cpu = true};
      if (is_sharded) options.sharding = ShardingOptions{};
      Accelerator accelerator(options);
      torch::manual_seed(3);
      Many net = deferred_init([] { return Many(); });
      auto model = accelerator.prepare(net);
      EXPECT_TRUE(torch::equal(torch::randn({4}), next));
      const auto compare = [](const auto& actual, const auto& other) {
        ASSERT_EQ(actual.size(), other.size());
        for (const auto& item : other) {
          const torch::Tensor tensor = actual[item.key()].detach().clone();
          EXPECT_EQ(tensor.dtype(), item.value().dtype()) << item.key();
          EXPECT_TRUE(torch::equal(tensor, item.value())) << item.key();
        }
      };
      compare(net->named_parameters(), expected->named_parameters());
      compare(net->named_buffers(), expected->named_buffers());
      if (is_sharded) return;
      EXPECT_TRUE(net->named_parameters()["turned"].is_alias_of(net->named_parameters()["weight"]));
    });
  }
}

TEST(DeferredConstructorTest, UsesBeforePrepareAreRefused) {
  on_ranks(1, [] {
    Text net = deferred_init(tied_text);
    EXPECT_THAT(error_of([&] { torch::nn::init::normal_(net->head->weight); }),
                HasSubstr("aten::normal_ uses a tensor that was made by deferred_init()"));
    EXPECT_THAT(error_of([&] { net->loss(words_of(0, 0)); }), HasSubstr("has no values yet"));
    EXPECT_THAT(error_of([&] { (void)net->head->bias.sum().item<float>(); }),
                HasSubstr("Call prepare() first"));
    EXPECT_THAT(error_of([&] { net->to(torch::kBFloat16); }), HasSubstr("has no values yet"));
    EXPECT_THAT(error_of([&] { without_memory([&] { return net->head->weight + 1; }); }),
                HasSubstr("has no values yet"));
    EXPECT_EQ(net->head->weight.detach().t().size(0), 8);
    Accelerator accelerator({.cpu = true});
    auto model = accelerator.prepare(net);
    EXPECT_NO_THROW(torch::nn::init::normal_(net->head->weight));
    EXPECT_NO_THROW(accelerator.prepare(net));
    EXPECT_TRUE(model->loss(words_of(0, 0)).isfinite().item<bool>());
  });
}

TEST(DeferredConstructorTest, WhatCannotBeExecutedLaterIsRefused) {
  on_ranks(1, [] {
    const auto error = [](const auto& body) {
      return error_of([&] {
        deferred_init([&] {
          body();
          return 0;
        });
      });
    };
    EXPECT_THAT(error([] { (void)torch::linspace(0, 1, 3)[1].item<float>(); }),
                HasSubstr("aten::_local_scalar_dense reads a value"));
    EXPECT_THAT(error([] { torch::rand({2}, at::make_generator<at::CPUGeneratorImpl>(7)); }),
                HasSubstr("draws from a generator of the program"));
    EXPECT_THAT(error([] { torch::zeros({2}, torch::kCUDA); }), HasSubstr("on cuda"));
    EXPECT_THAT(error([] { torch::rand({2}) + without_memory([] { return torch::rand({2}); }); }),
                HasSubstr("uses a tensor without values"));
    EXPECT_THAT(error([] { (void)torch::arange(3).nonzero(); }),
                HasSubstr("aten::nonzero cannot be called without memory"));
    EXPECT_THAT(error([] { (void)torch::ones({3}).multinomial(1); }),
                HasSubstr("aten::multinomial cannot be called without memory"));
    EXPECT_THAT(error([] { (void)at::_unique(torch::arange(3)); }),
                HasSubstr("cannot be called without memory"));
    const torch::Tensor outside = torch::zeros({4});
    EXPECT_THAT(error([&] { outside.narrow(0, 1, 2).normal_(); }), HasSubstr("share memory with"));
    EXPECT_TRUE(outside.eq(0).all().item<bool>());
  });
}

TEST(DeferredConstructorTest, ArgumentsAreThoseOfTheTimeOfTheCall) {
  on_ranks(1, [] {
    auto net = deferred_init([] {
      auto made = std::make_shared<torch::nn::Module>();
      const auto sum = c10::Dispatcher::singleton().findSchemaOrThrow("aten::sum", "dim_IntList");
      c10::List<std::int64_t> dims({0});
      torch::jit::Stack stack{torch::arange(6).view({2, 3}), dims, false, c10::IValue()};
      {
        // Autograd would copy the list.
        const at::AutoDispatchBelowADInplaceOrView below_autograd;
        sum.callBoxed(stack);
      }
      dims[0] = 1;
      made->register_buffer("rows", stack[0].toTensor());
      torch::Tensor values = torch::ones({3});
      made->register_buffer("sum", torch::zeros({3}) + values);
      values.mul_(7);
      made->register_buffer("ones", torch::ones({2}));
      return made;
    });
    torch::set_default_dtype(caffe2::TypeMeta::Make<double>());
    Accelerator accelerator({.cpu = true});
    auto model = accelerator.prepare(net);
    EXPECT_TRUE(torch::equal(net->named_buffers()["rows"], torch::arange(6).view({2, 3}).sum(0)));
    EXPECT_TRUE(net->named_buffers()["sum"].eq(1).all().item<bool>());
    EXPECT_EQ(net->named_buffers()["ones"].scalar_type(), torch::kFloat);
    EXPECT_EQ(torch::ones({1}).scalar_type(), torch::kDouble);
  });
}

}  // namespace
}  // namespace accel::runtime
