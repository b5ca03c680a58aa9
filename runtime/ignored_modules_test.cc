// Parameters of ignored modules are whole on each rank of a sharded model, and train as in data
// parallel training.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "accel/accelerator.h"
#include "accel/without_memory.h"
#include "runtime/distinct.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/saved_run.h"
#include "runtime/testing/text_net.h"
#include "runtime/testing/text_sharding.h"

namespace accel::runtime {
namespace {

using ::testing::HasSubstr;
using Tensors = std::vector<torch::Tensor>;

const Sharding kIgnoring = ignoring("head|blocks\\.1|blocks\\.0\\.norm");

// A part of a run that the cases below vary.
struct Variation {
  AcceleratorOptions options = {};
  bool is_tied = false;
  bool is_sparse = false;
  bool freezes = false;
  bool keeps_first = false;  // The first of two passes is inside of no_sync().
  double max_norm = 1e9;
};

// A run whose ranks train on different words.
struct IgnoringRun {
  IgnoringRun(const Sharding& sharding, const Variation& variation, const fs::path& folder = "")
      : how(variation), accelerator([&] {
          AcceleratorOptions options = how.options;
          options.sharding = sharding;
          options.project = {.project_dir = folder, .automatic_checkpoint_naming = true};
          return options;
        }()) {
    torch::manual_seed(7 + accelerator.process_index());
    net = Text(3, 8, how.is_tied);
    net->embed->options.sparse(how.is_sparse);
    if (how.freezes) net->head->weight.requires_grad_(false);
    model = accelerator.prepare(net);
    adam = accelerator.prepare(torch::optim::AdamW(distinct(net->parameters()), 0.01));
  }

  // Makes the batches [begin, end). With `is_same`, all ranks train on the same words, so that the
  // result does not depend on their number.
  Tensors train(int begin, int end, bool is_same = false) {
    Tensors losses;
    for (int batch = begin; batch < end; ++batch) {
      auto window = accelerator.accumulate(model);
      const torch::Tensor x = words_of(batch, is_same ? 0 : accelerator.process_index());
      if (how.keeps_first) {
        const auto apart = accelerator.no_sync(model);
        accelerator.backward(model->loss(x.flip({1})));
      }
      const auto loss = model->loss(x);
      accelerator.backward(loss);
      losses.push_back(loss.detach());
      if (accelerator.sync_gradients()) {
        losses.push_back(accelerator.clip_grad_norm_(net->parameters(), how.max_norm));
        losses.push_back(accelerator.clip_grad_norm_(net->head->parameters(), how.max_norm));
      }
      adam.step();
      adam.zero_grad();
    }
    return losses;
  }

  // Returns the whole parameters, on every rank.
  torch::Tensor weights() const {
    Tensors flat;
    for (const torch::Tensor& parameter : net->parameters()) {
      flat.push_back(parameter.detach().clone().flatten());
    }
    return torch::cat(flat);
  }

  const Variation how;
  Accelerator accelerator;
  Text net{nullptr};
  Model<Text> model;
  Optimizer<torch::optim::AdamW> adam;
};

// Returns losses and norms, and then the parameters.
Tensors trained(const Sharding& sharding, const Variation& how) {
  IgnoringRun run(sharding, how);
  Tensors results = run.train(0, 4);
  results.push_back(run.weights());
  return results;
}

void expect_equal(const Tensors& expected, const Tensors& results, double tolerance) {
  ASSERT_EQ(expected.size(), results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_LE((expected[i] - results[i]).abs().max().item<double>(), tolerance) << "result " << i;
  }
}

TEST(IgnoredModulesTest, TheyTrainAsInDataParallelTraining) {
  on_ranks(2, [] {
    const Variation variations[] = {{},
                                    {.is_tied = true},
                                    {.freezes = true},
                                    {.keeps_first = true},
                                    {.max_norm = 0.1},
                                    {.options = {.gradient_accumulation = {.num_steps = 2}}}};
    for (const Variation& how : variations) {
      const Tensors expected = trained({}, how);
      expect_equal(expected, trained(kIgnoring, how), 1e-5);
      expect_equal(expected, trained(ignoring("embed"), how), 1e-5);
    }
    expect_equal(trained({}, {}), trained(ignoring(".*"), {}), 1e-6);
    expect_equal(trained({}, {}), trained(ignoring("embed"), {.is_sparse = true}), 1e-5);
  });
}

TEST(IgnoredModulesTest, TheyTrainOverAllReplicas) {
  on_ranks(4, [] {
    Sharding replicas = kIgnoring;
    replicas->strategy = ShardingStrategy::kHybridShard;
    replicas->shard_size = 2;
    const Tensors expected = trained({}, {});
    expect_equal(expected, trained(kIgnoring, {}), 1e-5);
    expect_equal(expected, trained(replicas, {}), 1e-5);
  });
}

TEST(IgnoredModulesTest, TheyAreWholeBetweenStepsAndMayBeChanged) {
  on_ranks(2, [] {
    IgnoringRun run(kIgnoring, {});
    const torch::Tensor weight = run.net->head->weight;
    EXPECT_EQ(weight.storage().nbytes(), weight.nbytes());
    EXPECT_EQ(run.net->embed->weight.storage().nbytes(), 0u);
    run.accelerator.backward(run.model->loss(words_of(0, run.accelerator.process_index())));
    EXPECT_EQ(weight.grad().sizes(), weight.sizes());
    const torch::Tensor all = run.accelerator.gather(weight.grad());
    EXPECT_TRUE(torch::equal(all.narrow(0, 0, 11), all.narrow(0, 11, 11)));
    const torch::NoGradGuard no_graph;
    run.net->head->bias.fill_(3);
    EXPECT_EQ(run.net->head->bias.sum().item<double>(), 33);
  });
}

TEST(IgnoredModulesTest, AParameterThatOneRankDoesNotUseCountsAsZeroThere) {
  on_ranks(2, [] {
    IgnoringRun run(kIgnoring, {});
    torch::Tensor h = run.model->embed(words_of(0, 0));
    if (run.accelerator.process_index() == 0) h = run.net->head(h);
    run.accelerator.backward(h.sum());
    EXPECT_TRUE(torch::equal(run.net->head->bias.grad(), torch::full({11}, 12.0)));
    EXPECT_FALSE(run.net->blocks[1]->as<Block>()->up->bias.grad().defined()) << "no rank used it";
  });
}

TEST(IgnoredModulesTest, PrintShardingHasTheirMemory) {
  on_ranks(2, [] {
    IgnoringRun run(ignoring("head"), {});
    testing::internal::CaptureStdout();
    run.accelerator.print_sharding(run.model);
    const std::string text = testing::internal::GetCapturedStdout();
    if (!run.accelerator.is_local_main_process()) return;
    EXPECT_THAT(text, HasSubstr("99 parameters      396 B on each rank, not sharded"));
  });
}

TEST(IgnoredModulesTest, ANameThatNoModuleHasIsRefused) {
  on_ranks(2, [] {
    EXPECT_THAT(error_of([] { IgnoringRun(ignoring("heads"), {}); }),
                HasSubstr("ignored_modules is \"heads\""));
  });
}

// Makes the checkpoint after three batches, the third of which opens a window.
void save(const fs::path& folder, const Sharding& sharding) {
  IgnoringRun run(sharding, {.options = {.gradient_accumulation = {.num_steps = 2}}}, folder);
  run.train(0, 3, /*is_same=*/true);
  run.accelerator.save_state();
  run.train(3, 4, /*is_same=*/true);  // While it is written.
  run.accelerator.end_training();
}

void expect_continues(const fs::path& folder, const Sharding& sharding) {
  const Variation how{.options = {.gradient_accumulation = {.num_steps = 2}}};
  IgnoringRun whole({}, how);
  whole.train(0, 6, /*is_same=*/true);
  const torch::Tensor expected = whole.weights();
  IgnoringRun run(sharding, how, folder);
  ASSERT_TRUE(run.accelerator.resume_from_newest());
  run.train(3, 6, /*is_same=*/true);
  EXPECT_LE((run.weights() - expected).abs().max().item<double>(), 1e-5);
}

// Either form, to and from runs that ignore the modules, ignore others, and do not shard.
TEST(IgnoredModulesTest, CheckpointsContinueWithAnyRanksAndModules) {
  for (const auto form : {StateDictType::kSharded, StateDictType::kFull}) {
    const std::string name = form == StateDictType::kFull ? "full" : "parts";
    Sharding from = kIgnoring, all = ignoring("");
    from->state_dict_type = all->state_dict_type = form;
    const fs::path ignored = fs::path(testing::TempDir()) / ("ignored_" + name);
    const fs::path others = fs::path(testing::TempDir()) / ("not_ignored_" + name);
    on_ranks(2, [&] { save(ignored, from); });
    on_ranks(2, [&] { save(others, all); });
    on_ranks(3, [&] {
      expect_continues(ignored, kIgnoring);
      expect_continues(ignored, ignoring("embed"));
      expect_continues(ignored, ignoring(""));
      expect_continues(ignored, {});
      expect_continues(others, kIgnoring);
    });
  }
}

// They get memory for their values in prepare(), and the values from files.
TEST(IgnoredModulesTest, TheyMayBeBuiltWithoutMemory) {
  const fs::path folder = fs::path(testing::TempDir()) / "ignored_without_memory";
  on_ranks(1, [&] {
    torch::manual_seed(3);
    Accelerator accelerator({.cpu = true});
    accelerator.save_model(accelerator.prepare(Text()), folder);
  });
  on_ranks(2, [&] {
    torch::manual_seed(3);
    const Text expected;
    Accelerator accelerator({.cpu = true, .sharding = kIgnoring});
    Text net = without_memory([] { return Text(); });
    auto model = accelerator.prepare(net);
    EXPECT_THAT(error_of([&] { model->loss(words_of(0, 0)); }), HasSubstr("have no values yet"));
    accelerator.load_checkpoint_in_model(model, folder);
    for (const auto& item : expected->named_parameters()) {
      const torch::Tensor loaded = net->named_parameters()[item.key()].detach().clone();
      EXPECT_TRUE(torch::equal(loaded, item.value())) << item.key();
    }
    Text other = accelerator.is_main_process() ? Text() : without_memory([] { return Text(); });
    accelerator.prepare(other);
    EXPECT_FALSE(other->head->weight.isnan().any().item<bool>());
  });
}

// No read of an ignored parameter is reported, so the passes themselves must look.
TEST(IgnoredModulesTest, NoPassIsMadeWithoutValues) {
  on_ranks(2, [] {
    for (const std::string pattern : {".*", "embed"}) {
      Accelerator accelerator({.cpu = true, .sharding = ignoring(pattern)});
      const Text net = without_memory([] { return Text(); });
      auto model = accelerator.prepare(net);
      EXPECT_THAT(error_of([&] { model(words_of(0, 0)); }), HasSubstr("have no values yet"));
      const torch::Tensor loss = model->embed(words_of(0, 0)).sum();
      EXPECT_THAT(error_of([&] { accelerator.backward(loss); }), HasSubstr("have no values yet"));
      EXPECT_FALSE(net->embed->weight.grad().defined());
    }
  });
}

}  // namespace
}  // namespace accel::runtime
