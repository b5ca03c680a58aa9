// Saving and loading through the Accelerator. runtime/checkpoint has separate tests of the
// folder on disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "accel/accelerator.h"
#include "accel/errors.h"
#include "accel/save.h"
#include "runtime/core/checkpoint_layout.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/training.h"

namespace accel::runtime {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

fs::path fresh_folder(const std::string& name = "checkpoints_test") {
  const fs::path folder = fs::path(testing::TempDir()) / name;
  fs::remove_all(folder);
  return folder;
}

struct Progress {
  void save(torch::serialize::OutputArchive& archive) const {
    archive.write("step", torch::tensor(step));
  }
  void load(torch::serialize::InputArchive& archive) {
    torch::Tensor value;
    archive.read("step", value);
    step = value.item<std::int64_t>();
  }
  std::int64_t step = 0;
};

// A run in which each step depends on weights, moments, learning rate, progress and random numbers.
struct Training {
  explicit Training(const fs::path& folder = "",
                    std::optional<std::size_t> total_limit = std::nullopt)
      : accelerator({.cpu = true,
                     .project = {.project_dir = folder,
                                 .automatic_checkpoint_naming = !folder.empty(),
                                 .total_limit = total_limit}}),
        net(torch::nn::Linear(8, 4), torch::nn::BatchNorm1d(4), torch::nn::Linear(4, 1)),
        model(accelerator.prepare(net)),
        adam(accelerator.prepare(torch::optim::Adam(net->parameters(), 0.01))) {
    accelerator.register_for_checkpointing(progress);
  }

  void train(int steps) {
    for (int i = 0; i < steps; ++i) {
      adam->param_groups()[0].options().set_lr(0.01 / static_cast<double>(++progress.step));
      adam.zero_grad();
      accelerator.backward(model(torch::randn({16, 8})).square().mean());
      adam.step();
    }
  }

  torch::Tensor weights() const {
    std::vector<torch::Tensor> flat;
    for (const torch::Tensor& parameter : net->parameters()) flat.push_back(parameter.flatten());
    for (const torch::Tensor& buffer : net->buffers()) {
      flat.push_back(buffer.to(torch::kFloat).flatten());
    }
    return torch::cat(flat).detach().clone();
  }

  Accelerator accelerator;
  torch::nn::Sequential net;
  Model<torch::nn::Sequential> model;
  Optimizer<torch::optim::Adam> adam;
  Progress progress;
};

TEST(SaveState, AResumedRunEqualsOneThatNeverStopped) {
  const fs::path folder = fresh_folder();
  torch::manual_seed(3);
  Training first;
  first.train(5);
  first.accelerator.save_state(folder);
  // Training changes the saved tensors while they are being written.
  first.train(5);
  const torch::Tensor after_ten = first.weights();
  first.accelerator.wait_for_save();

  torch::manual_seed(99);
  Training second;
  second.accelerator.load_state(folder);
  EXPECT_EQ(second.progress.step, 5);
  EXPECT_DOUBLE_EQ(second.adam->param_groups()[0].options().get_lr(), 0.01 / 5);
  second.train(5);
  EXPECT_TRUE(torch::equal(second.weights(), after_ten));
}

TEST(SaveState, TheNewestGoodOneIsLoadedAndNumbersContinue) {
  const fs::path folder = fresh_folder();
  {
    Training run(folder, 3);
    EXPECT_FALSE(run.accelerator.resume_from_newest());
    EXPECT_THAT(error_of([&] { run.accelerator.load_state(); }), HasSubstr("no complete"));
    for (int i = 0; i < 3; ++i) {
      run.train(1);
      run.accelerator.save_state();
    }
  }
  const fs::path newest = folder / "checkpoints/checkpoint_2";
  fs::resize_file(newest / "optimizer.bin", 10);
  Training run(folder, 3);
  EXPECT_THAT(error_of([&] { run.accelerator.load_state(newest); }),
              HasSubstr("optimizer.bin: it is torn"));
  EXPECT_TRUE(run.accelerator.resume_from_newest());
  EXPECT_EQ(run.progress.step, 2);
  // The skipped checkpoint does not block the next save.
  run.accelerator.save_state();
  run.accelerator.wait_for_save();
  EXPECT_TRUE(fs::exists(folder / "checkpoints/checkpoint_3/manifest.json"));
  // Neither do checkpoints that are newer than the loaded one.
  run.accelerator.load_state(folder / "checkpoints/checkpoint_1");
  run.accelerator.save_state(folder / "named");
  run.accelerator.save_state();
  run.accelerator.wait_for_save();
  EXPECT_TRUE(fs::exists(folder / "checkpoints/checkpoint_4/manifest.json"));
  // A checkpoint with a given name takes no number.
  Training fresh(folder);
  fresh.accelerator.load_state(folder / "named");
  fresh.accelerator.save_state();
  fresh.accelerator.wait_for_save();
  EXPECT_TRUE(fs::exists(folder / "checkpoints/checkpoint_5/manifest.json"));
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

// Folders without accel's manifest belong to another program: they are kept, and their numbers
// are not used.
TEST(SaveState, SkipsTheNumbersOfFoldersThatAreNoCheckpoints) {
  const fs::path folder = fresh_folder();
  for (int i = 0; i < 2; ++i) fs::create_directories(folder / "checkpoints" / checkpoint_name(i));
  Training run(folder, 1);
  EXPECT_FALSE(run.accelerator.resume_from_newest());
  for (const char* next : {"checkpoint_2", "checkpoint_3"}) {
    run.train(1);
    run.accelerator.save_state();
    run.accelerator.wait_for_save();
    EXPECT_THAT(names_in(folder / "checkpoints"),
                UnorderedElementsAre("checkpoint_0", "checkpoint_1", next));
  }
  Training again(folder, 1);
  EXPECT_TRUE(again.accelerator.resume_from_newest());
  EXPECT_EQ(again.progress.step, 2);
  // A damaged checkpoint is no reason to start from scratch.
  fs::resize_file(folder / "checkpoints/checkpoint_3/optimizer.bin", 10);
  EXPECT_THAT(error_of([&] { again.accelerator.resume_from_newest(); }),
              HasSubstr("damaged (checkpoint_3): move them away"));
}

TEST(SaveState, SkipsTheNumbersOfAnotherRunsCheckpoints) {
  const fs::path folder = fs::path(testing::TempDir()) / "used_folder";
  const fs::path parent = folder / "checkpoints";
  if (std::getenv("RANK") == nullptr) {
    fs::remove_all(folder);
    Training other(folder, 1);
    for (int i = 0; i < 3; ++i) other.accelerator.save_state();
  }
  on_ranks(2, [&] {
    Training run(folder, 1);
    run.train(1);
    std::string hooked;
    run.accelerator.register_save_state_pre_hook([&](const std::string& at) { hooked = at; });
    for (const char* next : {"checkpoint_3", "checkpoint_4"}) {
      run.accelerator.save_state();
      run.accelerator.wait_for_save();
      EXPECT_THAT(hooked, HasSubstr(next));
      EXPECT_THAT(names_in(parent), ElementsAre(next));
      run.accelerator.wait_for_everyone();
    }
    // A folder that another run has made meanwhile is not overwritten.
    if (run.accelerator.is_main_process()) fs::create_directories(parent / "checkpoint_5");
    EXPECT_THAT(error_of([&] { run.accelerator.save_state(); }), HasSubstr("already exists"));
    run.accelerator.wait_for_everyone();
  });
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
  Training run;
  run.accelerator.save_state(folder);
  run.accelerator.wait_for_save();
  Training more;
  Progress second;
  more.accelerator.register_for_checkpointing(second);
  EXPECT_THAT(error_of([&] { more.accelerator.load_state(folder); }),
              HasSubstr("had 1 objects of register_for_checkpointing() where this one has 2"));
  Accelerator fewer({.cpu = true});
  EXPECT_THAT(error_of([&] { fewer.load_state(folder); }),
              HasSubstr("had 1 prepared models where this one has 0"));
  Training wider;
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
    Training run(folder);
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
    Training run(folder);
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

TEST(SaveState, TakesTheNumberThatIsSet) {
  const fs::path folder = fresh_folder();
  Training run(folder);
  run.accelerator.save_state();
  EXPECT_EQ(run.accelerator.save_iteration(), 1u);
  run.accelerator.set_save_iteration(7);
  run.accelerator.save_state();
  run.accelerator.wait_for_save();
  EXPECT_THAT(names_in(folder / "checkpoints"),
              UnorderedElementsAre("checkpoint_0", "checkpoint_7"));
  EXPECT_EQ(run.accelerator.save_iteration(), 8u);
  run.accelerator.set_save_iteration(7);
  EXPECT_THAT(error_of([&] { run.accelerator.save_state(); }), HasSubstr("already exists"));
}

TEST(Save, WritesOnTheMainProcessWhatTorchLoads) {
  const fs::path folder = fs::path(testing::TempDir()) / "saved";
  if (std::getenv("RANK") == nullptr) fs::remove_all(folder);
  on_ranks(2, [&] {
    Training run;
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
    EXPECT_THAT(names_in(folder), UnorderedElementsAre("tensor.pt", "only_main_0", "each_node_0",
                                                       "model.pt", "adam.pt"));
    torch::Tensor tensor;
    torch::load(tensor, folder / "tensor.pt");
    EXPECT_EQ(tensor.item<float>(), 0);
    Training fresh;
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
    Training run;
    EXPECT_ANY_THROW(run.accelerator.save_state(folder));
    EXPECT_ANY_THROW(run.accelerator.load_state(folder));
    run.accelerator.wait_for_everyone();
  });
}

}  // namespace
}  // namespace accel::runtime
