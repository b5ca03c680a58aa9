// Saving and loading through the Accelerator. runtime/checkpoint has separate tests of the
// folder on disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "accel/errors.h"
#include "accel/save.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/saved_run.h"

namespace accel::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

TEST(SaveState, AResumedRunEqualsOneThatNeverStopped) {
  const fs::path folder = fresh_folder();
  torch::manual_seed(3);
  SavedRun first;
  first.train(5);
  first.accelerator.save_state(folder);
  // Training changes the saved tensors while they are being written.
  first.train(5);
  const torch::Tensor after_ten = first.weights();
  first.accelerator.wait_for_save();

  torch::manual_seed(99);
  SavedRun second;
  second.accelerator.load_state(folder);
  EXPECT_EQ(second.progress.step, 5);
  EXPECT_DOUBLE_EQ(second.adam->param_groups()[0].options().get_lr(), 0.01 / 5);
  second.train(5);
  EXPECT_TRUE(torch::equal(second.weights(), after_ten));
}

// Trains one optimizer further while its state is being saved, loads the state into another one,
// and expects that both make the same steps.
template <typename Optim, typename Options>
void expect_optimizer_goes_on(const Options& options) {
  const fs::path folder = fresh_folder();
  const auto make = [&](Accelerator& accelerator, torch::nn::Linear& net) {
    return std::get<1>(accelerator.prepare(net, Optim(net->parameters(), options)));
  };
  const auto step = [](torch::nn::Linear& net, Optimizer<Optim>& optimizer) {
    optimizer.step([&] {
      optimizer.zero_grad();
      const torch::Tensor loss = net(torch::ones({1, 300})).square().sum();
      loss.backward();
      return loss;
    });
  };
  Accelerator accelerator({.cpu = true}), other({.cpu = true});
  torch::nn::Linear net(300, 300), second(300, 300);
  auto optimizer = make(accelerator, net);
  step(net, optimizer);
  accelerator.save_state(folder);
  for (int i = 0; i < 3; ++i) step(net, optimizer);
  accelerator.wait_for_save();
  auto again = make(other, second);
  other.load_state(folder);
  for (int i = 0; i < 3; ++i) step(second, again);
  EXPECT_TRUE(torch::equal(net->weight, second->weight));
}

TEST(SaveState, HoldsEveryOptimizer) {
  namespace optim = torch::optim;
  expect_optimizer_goes_on<optim::Adam>(optim::AdamOptions(0.1).amsgrad(true));
  expect_optimizer_goes_on<optim::AdamW>(optim::AdamWOptions(0.1));
  expect_optimizer_goes_on<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9));
  expect_optimizer_goes_on<optim::SGD>(optim::SGDOptions(0.1));
  expect_optimizer_goes_on<optim::RMSprop>(optim::RMSpropOptions(0.1).momentum(0.9).centered(true));
  expect_optimizer_goes_on<optim::Adagrad>(optim::AdagradOptions(0.1));
  expect_optimizer_goes_on<optim::LBFGS>(optim::LBFGSOptions(0.1).max_iter(2));
}

TEST(LoadState, AnotherProgramsCheckpointIsRefused) {
  const fs::path folder = fresh_folder();
  SavedRun run;
  run.accelerator.save_state(folder);
  run.accelerator.wait_for_save();
  SavedRun more;
  Progress second;
  more.accelerator.register_for_checkpointing(second);
  EXPECT_THAT(error_of([&] { more.accelerator.load_state(folder); }),
              HasSubstr("had 1 objects of register_for_checkpointing() where this one has 2"));
  Accelerator fewer({.cpu = true});
  EXPECT_THAT(error_of([&] { fewer.load_state(folder); }),
              HasSubstr("had 1 prepared models where this one has 0"));
  SavedRun wider;
  wider.net->push_back(torch::nn::Linear(9, 9));
  EXPECT_THAT(error_of([&] { wider.accelerator.load_state(folder); }),
              HasSubstr("model.safetensors: it is of another model"));
  EXPECT_THAT(error_of([&] { run.accelerator.save_state(); }), HasSubstr("project_dir"));
}

TEST(LoadState, AnotherKindOfOptimizerIsRefused) {
  const fs::path folder = fresh_folder();
  torch::nn::Linear net(3, 3);
  Accelerator saving({.cpu = true}), loading({.cpu = true});
  const auto adam = saving.prepare(torch::optim::Adam(net->parameters()));
  saving.save_state(folder);
  saving.wait_for_save();
  const auto sgd = loading.prepare(torch::optim::SGD(net->parameters(), 0.1));
  EXPECT_THAT(error_of([&] { loading.load_state(folder); }),
              HasSubstr("optimizer 0 was torch::optim::Adam and is torch::optim::SGD here"));
}

// The second of two models has other shapes, so the first must keep its weights.
TEST(LoadState, NoWeightIsLoadedUnlessAllFit) {
  const fs::path folder = fresh_folder();
  const auto set_up = [](Accelerator& accelerator, std::int64_t width) {
    torch::nn::Linear first(3, 3), second(width, 2);
    static_cast<void>(accelerator.prepare(first, second));
    return first;
  };
  Accelerator saving({.cpu = true}), loading({.cpu = true});
  set_up(saving, 4);
  saving.save_state(folder);
  saving.wait_for_save();
  const torch::nn::Linear first = set_up(loading, 5);
  const torch::Tensor before = first->weight.detach().clone();
  EXPECT_THAT(error_of([&] { loading.load_state(folder); }),
              HasSubstr("model_1.safetensors: weight has shape [2, 4] there and [2, 5]"));
  EXPECT_TRUE(torch::equal(first->weight, before));
}

// The random states of all ranks are saved. Two ranks save, and three load.
TEST(SaveState, OfTwoProcessesLoadsInThreeAndInOne) {
  const fs::path folder = fs::path(testing::TempDir()) / "two_to_three";
  const auto expected = [&](int rank) { return folder / ("next_" + std::to_string(rank)); };
  on_ranks(2, [&] {
    SavedRun run(folder);
    const int rank = run.accelerator.process_index();
    if (rank == 0) fs::remove_all(folder);
    run.accelerator.wait_for_everyone();
    torch::manual_seed(100 + rank);
    run.train(3);
    run.accelerator.save_state();
    run.accelerator.wait_for_save();
    EXPECT_EQ(fs::exists(folder / "checkpoints/checkpoint_0/random_states_1.safetensors"), true);
    const double next = torch::rand({1}, torch::kDouble).item<double>();
    std::ofstream(expected(rank)).write(reinterpret_cast<const char*>(&next), sizeof next);
  });
  const auto loaded = [&] {
    SavedRun run(folder);
    const int rank = run.accelerator.process_index();
    EXPECT_TRUE(run.accelerator.resume_from_newest());
    EXPECT_EQ(run.progress.step, 3);
    if (rank < 2) {
      double wanted = -1;
      std::ifstream(expected(rank)).read(reinterpret_cast<char*>(&wanted), sizeof wanted);
      EXPECT_EQ(torch::rand({1}, torch::kDouble).item<double>(), wanted);
    }
    const torch::Tensor all = run.accelerator.gather(run.weights().unsqueeze(0));
    EXPECT_TRUE(torch::equal(all[0], all[-1]));
    run.train(1);
  };
  on_ranks(3, loaded);
  if (std::getenv("RANK") == nullptr) loaded();
}

TEST(Save, WritesOnTheMainProcessWhatTorchLoads) {
  const fs::path folder = fs::path(testing::TempDir()) / "saved";
  if (std::getenv("RANK") == nullptr) fs::remove_all(folder);
  on_ranks(2, [&] {
    SavedRun run;
    run.train(1);
    Accelerator& accelerator = run.accelerator;
    const std::string rank = std::to_string(accelerator.process_index());
    const torch::Tensor mine = torch::full({1}, accelerator.process_index());
    accelerator.save(mine, folder / "tensor.pt");
    accelerator.save(mine, folder / ("only_main_" + rank));
    accelerator.save(mine, folder / ("each_node_" + rank), {.save_on_each_node = true});
    accelerator.save(run.model, folder / "model.pt");
    accelerator.save(run.adam, folder / "adam.pt");
    accelerator.wait_for_everyone();
    EXPECT_THAT(entries_of(folder), UnorderedElementsAre("tensor.pt", "only_main_0", "each_node_0",
                                                         "model.pt", "adam.pt"));
    torch::Tensor tensor;
    torch::load(tensor, folder / "tensor.pt");
    EXPECT_EQ(tensor.item<float>(), 0);
    SavedRun fresh;
    torch::load(fresh.net, folder / "model.pt");
    torch::load(*fresh.adam, folder / "adam.pt");
    EXPECT_TRUE(torch::equal(fresh.weights(), run.weights()));
    EXPECT_EQ(fresh.adam->state().size(), run.adam->state().size());
    if (!accelerator.is_main_process()) return;
    EXPECT_THAT(error_of([&] { accelerator.save(mine, folder); }), HasSubstr("cannot be replaced"));
  });
}

// A failure on the rank that writes is thrown on all ranks.
TEST(SaveState, FailsOnEveryRank) {
  on_ranks(2, [] {
    const fs::path folder = fs::path(testing::TempDir()) / "precious";
    fs::create_directories(folder);
    std::ofstream(folder / "train.py") << "x";
    SavedRun run;
    EXPECT_ANY_THROW(run.accelerator.save_state(folder));
    EXPECT_ANY_THROW(run.accelerator.load_state(folder));
    run.accelerator.wait_for_everyone();
  });
}

}  // namespace
}  // namespace accel::runtime
