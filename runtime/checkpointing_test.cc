// Saving and loading through the Accelerator. The folder on the disk has tests of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <torch/nn.h>
#include <torch/optim/adam.h>
#include <torch/serialize/archive.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>

#include "runtime/accelerator.h"
#include "runtime/core/checkpoint_error.h"
#include "runtime/testing/ranks.h"

namespace accel {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

fs::path fresh_folder(const std::string& name = "checkpoints_test") {
  const fs::path folder = fs::path(testing::TempDir()) / name;
  fs::remove_all(folder);
  return folder;
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was thrown";
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

// A run whose every step depends on weights, moments, learning rate, progress and random numbers.
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

TEST(SaveState, ARunGoesOnAsIfItHadNotStopped) {
  const fs::path folder = fresh_folder();
  torch::manual_seed(3);
  Training first;
  first.train(5);
  first.accelerator.save_state(folder);
  // While it is written, training changes what was saved.
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

TEST(SaveState, TheNewestGoodOneIsTakenAndNumbersGoOn) {
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
  fs::remove_all(newest);
  run.accelerator.save_state();
  run.accelerator.wait_for_save();
  EXPECT_TRUE(fs::exists(newest / "manifest.json"));
}

TEST(SaveState, AnErrorInTheBackgroundComesWithTheNextCall) {
  const fs::path folder = fresh_folder();
  std::ofstream(folder) << "a file where the folder should be";
  Training run;
  run.accelerator.save_state(folder / "checkpoint");
  EXPECT_THAT(error_of([&] { run.accelerator.wait_for_save(); }), HasSubstr("cannot be written"));
  run.accelerator.wait_for_save();  // Said once.
  fs::remove(folder);
  run.accelerator.save_state(folder);
  run.accelerator.wait_for_save();
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
              HasSubstr("custom_checkpoint_1.bin: it is missing"));
  Accelerator fewer({.cpu = true});
  EXPECT_THAT(error_of([&] { fewer.load_state(folder); }), HasSubstr("nothing that it belongs to"));
  auto wider = fewer.prepare(torch::nn::Linear(9, 9));
  EXPECT_THROW(fewer.load_state(folder), CheckpointError);
  EXPECT_THAT(error_of([&] { run.accelerator.save_state(); }), HasSubstr("project_dir"));
}

// Every rank's random numbers are saved; what three ranks load is what two have saved.
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

// A failure on the rank that writes reaches all of them.
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

TEST(SaveModel, TiedAndConvertedAndStrict) {
  const fs::path folder = fresh_folder();
  Accelerator accelerator({.cpu = true});
  torch::nn::Sequential net(torch::nn::Linear(3, 3), torch::nn::Linear(3, 3));
  const auto tie = [](auto& layers) {
    layers->parameters()[2].set_data(layers->parameters()[0].data());
  };
  tie(net);
  accelerator.save_model(net, folder, 1);
  EXPECT_TRUE(fs::exists(folder / "model.safetensors.index.json"));

  torch::nn::Sequential half(torch::nn::Linear(3, 3), torch::nn::Linear(3, 3));
  half->to(torch::kBFloat16);
  EXPECT_THAT(error_of([&] { accelerator.load_checkpoint_in_model(half, folder); }),
              HasSubstr("it lacks 1.weight"));
  tie(half);
  accelerator.load_checkpoint_in_model(half, folder);
  EXPECT_TRUE(torch::equal(half->parameters()[0], net->parameters()[0].to(torch::kBFloat16)));

  torch::nn::Linear other(3, 4);
  EXPECT_THAT(error_of([&] { accelerator.load_checkpoint_in_model(other, folder); }),
              HasSubstr("it lacks weight, bias"));
  accelerator.load_checkpoint_in_model(other, folder, /*strict=*/false);
  accelerator.save_model(torch::nn::Linear(5, 4), folder);
  EXPECT_FALSE(fs::exists(folder / "model.safetensors.index.json"));
  EXPECT_THAT(error_of([&] { accelerator.load_checkpoint_in_model(other, folder); }),
              HasSubstr("weight has shape [4, 5] there and [4, 3]"));
}

std::string python() {
  if (const char* named = std::getenv("ACCEL_PYTHON")) return named;
  return std::string(getpwuid(getuid())->pw_dir) + "/.cache/accel/venv/bin/python";
}

constexpr char kPython[] = R"(
import sys, torch, accelerate
folder, other = sys.argv[1:]
net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 2))
accelerate.load_checkpoint_in_model(net, folder, strict=True)
assert torch.equal(net[0].weight.flatten(), torch.arange(12.)), net[0].weight
assert net[1].num_batches_tracked.item() == 7
with torch.no_grad():
    for tensor in net.state_dict().values(): tensor += 1
accelerate.Accelerator(cpu=True).save_model(net, other, max_shard_size=60)
)";

TEST(SaveModel, PythonReadsItAndTheReverse) {
  const fs::path ours = fresh_folder("ours"), theirs = fresh_folder("theirs");
  Accelerator accelerator({.cpu = true});
  torch::nn::Sequential net(torch::nn::Linear(4, 3), torch::nn::BatchNorm1d(3),
                            torch::nn::Linear(3, 2));
  {
    torch::NoGradGuard no_grad;
    net->parameters()[0].copy_(torch::arange(12.0).view({3, 4}));
    net->named_buffers()["1.num_batches_tracked"].fill_(7);
  }
  accelerator.save_model(net, ours, 70);
  const fs::path script = fs::path(testing::TempDir()) / "both_ways.py";
  std::ofstream(script) << kPython;
  const std::string command = "timeout 100 " + python() + " " + script.string() + " " +
                              ours.string() + " " + theirs.string();
  ASSERT_EQ(std::system(command.c_str()), 0);

  torch::nn::Sequential back(torch::nn::Linear(4, 3), torch::nn::BatchNorm1d(3),
                             torch::nn::Linear(3, 2));
  accelerator.load_checkpoint_in_model(back, theirs);
  EXPECT_TRUE(fs::exists(theirs / "model.safetensors.index.json"));
  for (const auto& item : net->named_parameters()) {
    EXPECT_TRUE(torch::equal(back->named_parameters()[item.key()], item.value() + 1)) << item.key();
  }
  EXPECT_EQ(back->named_buffers()["1.num_batches_tracked"].item<int>(), 8);
}

}  // namespace
}  // namespace accel
