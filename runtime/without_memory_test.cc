// Models that are larger than the memory of one process: built without memory, and filled part by
// part.
#include "accel/without_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "accel/accelerator.h"
#include "runtime/testing/counting_allocator.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/text_net.h"

namespace accel::runtime {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr int kBlocks = 6;
constexpr std::int64_t kWidth = 64;

Text big_text() { return Text(kBlocks, kWidth); }

std::int64_t bytes_of(const Text& net) {
  std::int64_t bytes = 0;
  for (const torch::Tensor& parameter : net->parameters()) {
    bytes += static_cast<std::int64_t>(parameter.nbytes());
  }
  return bytes;
}

AcceleratorOptions sharded() {
  return {.cpu = true,
          .sharding = ShardingOptions{.auto_wrap_policy = WrapPolicy::kTransformerBased,
                                      .transformer_layer_cls_to_wrap = {"Block"}}};
}

torch::Tensor weights_of(const Text& net) {
  std::vector<torch::Tensor> flat;
  for (const torch::Tensor& parameter : net->parameters()) {
    flat.push_back(parameter.detach().clone().flatten());
  }
  return torch::cat(flat);
}

fs::path saved_weights(const std::string& name) {
  const fs::path folder = fs::path(testing::TempDir()) / name;
  on_ranks(1, [&] {
    torch::manual_seed(3);
    Accelerator accelerator({.cpu = true});
    accelerator.save_model(accelerator.prepare(big_text()), folder);
  });
  return folder;
}

torch::Tensor trained(Accelerator& accelerator, const Text& net, Model<Text> model) {
  auto adam = accelerator.prepare(torch::optim::AdamW(net->parameters(), 0.01));
  for (int step = 0; step < 2; ++step) {
    accelerator.backward(model->loss(words_of(step, 0)));
    adam.step();
    adam.zero_grad();
  }
  return weights_of(net);
}

// Returns how many bytes this process has read from files.
std::uint64_t bytes_read() {
  std::ifstream counts("/proc/self/io");
  std::string key;
  std::uint64_t number = 0;
  while (counts >> key >> number) {
    if (key == "rchar:") return number;
  }
  ADD_FAILURE() << "/proc/self/io has no rchar";
  return 0;
}

TEST(WithoutMemoryTest, AnUnmodifiedConstructorTakesNoMemory) {
  on_ranks(1, [] {
    const std::int64_t before = counted().live();
    counted().take_peak();
    const Text net = without_memory(big_text);
    EXPECT_EQ(counted().take_peak(), before);
    EXPECT_GT(bytes_of(net), 500'000);
    EXPECT_TRUE(net->head->weight.is_meta());
    EXPECT_TRUE(net->head->weight.requires_grad());
    EXPECT_FALSE(torch::empty({1}).is_meta());
  });
}

// A rank holds its part and, for a moment, one unit; and it reads the bytes of its part.
TEST(WithoutMemoryTest, EachRankHoldsAndReadsItsPart) {
  const fs::path folder = saved_weights("without_memory_parts");
  on_ranks(2, [&] {
    counted();
    Accelerator accelerator(sharded());
    torch::Tensor expected;
    {
      torch::manual_seed(3);
      Text whole = big_text();
      expected = weights_of(whole);
    }
    const std::int64_t before = counted().live();
    counted().take_peak();
    Text net = without_memory(big_text);
    const std::int64_t whole = bytes_of(net), unit = whole / kBlocks;
    auto model = accelerator.prepare(net);
    EXPECT_THAT(error_of([&] { model->loss(words_of(0, 0)); }), HasSubstr("have no values yet"));
    const std::uint64_t read = bytes_read();
    accelerator.load_checkpoint_in_model(model, folder);
    const auto half = static_cast<std::uint64_t>(whole / 2);
    EXPECT_LE(bytes_read() - read, half + half / 4);
    EXPECT_LE(counted().live() - before, whole / 2 + unit / 4);
    EXPECT_LE(counted().take_peak() - before, whole / 2 + unit + unit / 2);
    EXPECT_TRUE(torch::equal(weights_of(net), expected));
  });
}

TEST(WithoutMemoryTest, TrainsAsAModelThatWasBuiltWithMemory) {
  const fs::path folder = saved_weights("without_memory_trains");
  on_ranks(2, [&] {
    torch::Tensor expected;
    {
      Accelerator accelerator(sharded());
      torch::manual_seed(3);
      Text net = big_text();
      expected = trained(accelerator, net, accelerator.prepare(net));
    }
    Accelerator accelerator(sharded());
    Text net = without_memory(big_text);
    auto model = accelerator.prepare(net);
    accelerator.load_checkpoint_in_model(model, folder);
    EXPECT_TRUE(torch::equal(trained(accelerator, net, model), expected));
  });
}

// The result is that of an unsharded start, bit by bit.
TEST(WithoutMemoryTest, RankZeroGivesTheOthersItsInitialValues) {
  on_ranks(3, [&] {
    torch::manual_seed(3);
    const torch::Tensor expected = weights_of(big_text());
    Accelerator accelerator(sharded());
    torch::manual_seed(accelerator.is_main_process() ? 3 : 4);
    Text net = accelerator.is_main_process() ? big_text() : without_memory(big_text);
    auto model = accelerator.prepare(net);
    EXPECT_TRUE(torch::equal(weights_of(net), expected));
  });
}

TEST(WithoutMemoryTest, WithoutShardingEachRankHoldsTheWholeModel) {
  const fs::path folder = saved_weights("without_memory_whole");
  for (const int ranks : {1, 2}) {
    on_ranks(ranks, [&] {
      torch::manual_seed(3);
      const torch::Tensor expected = weights_of(big_text());
      Accelerator accelerator({.cpu = true});
      Text net = without_memory(big_text);
      auto model = accelerator.prepare(net);
      EXPECT_TRUE(net->head->weight.isnan().all().item<bool>());
      accelerator.load_checkpoint_in_model(model, folder);
      EXPECT_TRUE(torch::equal(weights_of(net), expected));
    });
  }
}

TEST(WithoutMemoryTest, EveryTensorMustBeLoaded) {
  const fs::path folder = fs::path(testing::TempDir()) / "without_memory_lacks";
  on_ranks(1, [&] {
    Accelerator accelerator({.cpu = true});
    accelerator.save_model(accelerator.prepare(Text(kBlocks - 1, kWidth)), folder);
  });
  on_ranks(2, [&] {
    Accelerator accelerator(sharded());
    auto model = accelerator.prepare(without_memory(big_text));
    const auto load = [&] {
      accelerator.load_checkpoint_in_model(model, folder, /*strict=*/false);
    };
    EXPECT_THAT(error_of(load), HasSubstr("it lacks blocks.5."));
  });
}

// A pretrained model has other heads than the program, whose own head is new.
TEST(WithoutMemoryTest, ANewHeadKeepsItsValuesAndOtherTensorsAreNotRead) {
  const fs::path folder = fs::path(testing::TempDir()) / "without_memory_head";
  on_ranks(1, [&] {
    torch::manual_seed(3);
    Text pretrained = big_text();
    pretrained->unregister_module("head");
    pretrained->register_module("cls", torch::nn::Linear(kWidth, 2));
    Accelerator({.cpu = true}).save_model(pretrained, folder);
  });
  for (const bool is_sharded : {true, false}) {
    on_ranks(2, [&] {
      torch::manual_seed(3);
      const Text expected = big_text();
      Accelerator accelerator(is_sharded ? sharded() : AcceleratorOptions{.cpu = true});
      torch::manual_seed(4 + accelerator.process_index());
      Text net = without_memory(big_text);
      net->head = net->replace_module("head", torch::nn::Linear(kWidth, TextImpl::kWords));
      auto model = accelerator.prepare(net);
      EXPECT_THAT(error_of([&] { accelerator.load_checkpoint_in_model(model, folder); }),
                  HasSubstr("it lacks head.weight, head.bias; it also has cls.bias, cls.weight"));
      accelerator.load_checkpoint_in_model(model, folder, /*strict=*/false);
      torch::manual_seed(4);
      const torch::nn::Linear head(kWidth, TextImpl::kWords);
      EXPECT_TRUE(torch::equal(net->head->weight.detach().clone(), head->weight));
      EXPECT_TRUE(torch::equal(net->head->bias.detach().clone(), head->bias));
      EXPECT_TRUE(torch::equal(net->embed->weight.detach().clone(), expected->embed->weight));
    });
  }
}

// The files lack the buffers of a module that rank 0 has made as usual.
TEST(WithoutMemoryTest, BuffersOfANewHeadHaveTheValuesOfRankZero) {
  const fs::path folder = saved_weights("without_memory_buffers");
  for (const bool is_sharded : {true, false}) {
    on_ranks(2, [&] {
      Accelerator accelerator(is_sharded ? sharded() : AcceleratorOptions{.cpu = true});
      Text net = without_memory(big_text);
      const auto make = [] { return torch::nn::BatchNorm1d(3); };
      const bool is_main = accelerator.is_main_process();
      auto norm = net->register_module("norm", is_main ? make() : without_memory(make));
      if (is_main) norm->running_mean.fill_(5);
      auto model = accelerator.prepare(net);
      accelerator.load_checkpoint_in_model(model, folder, /*strict=*/false);
      EXPECT_TRUE(norm->running_mean.eq(5).all().item<bool>());
      EXPECT_TRUE(norm->running_var.eq(1).all().item<bool>());
      EXPECT_FALSE(weights_of(net).isnan().any().item<bool>());
    });
  }
}

TEST(WithoutMemoryTest, BuffersMustBeLoadedEvenIfAllParametersHaveValues) {
  const fs::path folder = saved_weights("without_memory_lacks_buffers");
  on_ranks(2, [&] {
    Accelerator accelerator(sharded());
    Text net = big_text();
    net->register_module(
        "norm", without_memory([] {
          return torch::nn::BatchNorm1d(torch::nn::BatchNorm1dOptions(3).affine(false));
        }));
    auto model = accelerator.prepare(net);
    EXPECT_THAT(error_of([&] { model->loss(words_of(0, 0)); }), HasSubstr("have no values yet"));
    const auto load = [&] {
      accelerator.load_checkpoint_in_model(model, folder, /*strict=*/false);
    };
    EXPECT_THAT(error_of(load), HasSubstr("it lacks norm.running_mean, norm.running_var"));
  });
}

struct NormedImpl : torch::nn::Module {
  torch::nn::LayerNorm norm{
      register_module("LayerNorm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({5})))};
};
TORCH_MODULE(Normed);

// Old checkpoints of BERT have other names for the weights of their norms.
TEST(WithoutMemoryTest, OldNamesOfNormsAreRead) {
  const fs::path folder = fs::path(testing::TempDir()) / "without_memory_old_names";
  on_ranks(1, [&] {
    auto named = std::make_shared<torch::nn::Module>();
    named->register_parameter("gamma", torch::arange(5.0));
    named->register_parameter("beta", torch::arange(5.0) + 7);
    auto outer = std::make_shared<torch::nn::Module>();
    outer->register_module("LayerNorm", named);
    Accelerator({.cpu = true}).save_model(outer, folder);
  });
  for (const int ranks : {1, 2}) {
    on_ranks(ranks, [&] {
      Accelerator accelerator({.cpu = true, .sharding = ShardingOptions{}});
      Normed net = without_memory([] { return Normed(); });
      auto model = accelerator.prepare(net);
      accelerator.load_checkpoint_in_model(model, folder);
      EXPECT_TRUE(torch::equal(net->norm->weight.detach().clone(), torch::arange(5.0)));
      EXPECT_TRUE(torch::equal(net->norm->bias.detach().clone(), torch::arange(5.0) + 7));
    });
  }
}

// On a CPU the parts are in its memory anyway.
TEST(WithoutMemoryTest, OffloadingIsAcceptedOnTheCpu) {
  on_ranks(2, [&] {
    torch::Tensor weights[2];
    for (const bool offloads : {false, true}) {
      AcceleratorOptions options = sharded();
      options.sharding->offload_params = offloads;
      Accelerator accelerator(options);
      torch::manual_seed(3);
      Text net = big_text();
      weights[offloads] = trained(accelerator, net, accelerator.prepare(net));
    }
    EXPECT_TRUE(torch::equal(weights[0], weights[1]));
  });
}

}  // namespace
}  // namespace accel::runtime
