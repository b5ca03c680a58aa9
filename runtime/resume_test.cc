// A run that is interrupted and resumes from its checkpoint, with the same or another
// number of processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "accel/accelerator.h"
#include "accel/data_loader.h"
#include "accel/seedable_sampler.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/training.h"

namespace accel::runtime {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr std::size_t kSamples = 23, kEpochs = 3;

fs::path root() { return fs::path(testing::TempDir()) / "resume"; }

// The point at which a run is interrupted: while a batch is processed, or after the loop.
struct Cut {
  std::size_t epoch = kEpochs, batch = 0;
  bool after_loop = false;
};

// Trains up to the cut, then saves. Writes a line "epoch:sample" for each sample. In every second
// batch, a loop inside the loop reads other data.
template <typename Make>
void train(const std::string& name, AcceleratorOptions options, const Cut& cut, Make&& make) {
  const fs::path folder = root() / name;
  options.cpu = true;
  options.project = {.project_dir = folder, .automatic_checkpoint_naming = true};
  Accelerator accelerator(options);
  torch::nn::Linear net(1, 1);
  auto [model, sgd, loader, eval_loader] = accelerator.prepare(
      net, torch::optim::SGD(net->parameters(), 0.1), make(),
      make_data_loader<torch::data::samplers::SequentialSampler>(Numbers(kSamples), 4));
  accelerator.resume_from_newest();
  // Batches of different sizes cannot be gathered, so each rank then logs its own samples.
  const bool even = options.even_batches, main = accelerator.is_main_process();
  std::ofstream log(folder / std::to_string(accelerator.process_index()), std::ios::app);
  for (const std::size_t epoch : loader.epochs(kEpochs)) {
    std::size_t batches = 0;
    for (auto& batch : loader) {
      const torch::Tensor seen = even ? accelerator.gather_for_metrics(batch) : batch;
      for (std::int64_t i = 0; i < (main || !even ? seen.size(0) : 0); ++i) {
        log << epoch << ":" << seen[i].template item<std::int64_t>() << "\n";
      }
      if (++batches % 2 == 0) {
        for (auto& other : eval_loader) (void)other;
      }
      if (cut.after_loop || cut.epoch != epoch || cut.batch != batches) continue;
      accelerator.save_state();
      accelerator.wait_for_save();
      return;
    }
    if (main) log << epoch << ":end\n";
    if (!cut.after_loop || cut.epoch != epoch) continue;
    accelerator.save_state();
    accelerator.wait_for_save();
    return;
  }
}

// Trains up to the cut with each kind of loader.
void train_all(const Cut& cut) {
  using torch::data::samplers::RandomSampler;
  const auto random = [] { return make_data_loader<RandomSampler>(Numbers(kSamples), 3); };
  const auto stream = [] { return make_data_loader(NumberStream(kSamples), 3); };
  train("random", {}, cut, random);
  train("seedable", {.use_seedable_sampler = true}, cut, [] {
    return make_data_loader(Numbers(kSamples),
                            SeedableRandomSampler(kSamples, {.data_seed = 5, .num_samples = {}}),
                            torch::data::DataLoaderOptions(3));
  });
  train("uneven", {.even_batches = false}, cut, random);
  train("dispatched", {.dispatch_batches = true}, cut, random);
  train("stream", {.dispatch_batches = false}, cut, stream);
  train("dispatched_stream", {}, cut, stream);
}

// Returns the samples that are missing from the logs of any loader, or are in them too often. Empty
// if there are none.
std::string wrong_in_logs() {
  std::string wrong;
  for (const char* name :
       {"random", "seedable", "uneven", "dispatched", "stream", "dispatched_stream"}) {
    std::map<std::string, int> counts;
    for (int rank = 0; rank < 3; ++rank) {
      std::ifstream log(root() / name / std::to_string(rank));
      for (std::string line; std::getline(log, line);) ++counts[line];
    }
    for (std::size_t epoch = 0; epoch < kEpochs; ++epoch) {
      const std::string prefix = std::to_string(epoch) + ":";
      for (std::size_t i = 0; i < kSamples; ++i) --counts[prefix + std::to_string(i)];
      --counts[prefix + "end"];
    }
    for (const auto& [line, count] : counts) {
      if (count != 0) wrong += std::string(name) + " " + line + " " + std::to_string(count) + "; ";
    }
  }
  return wrong;
}

// Expects that each sample is seen once in each epoch, if `before` processes are interrupted and
// `after` processes resume.
void expect_each_sample_once(int before, int after, const Cut& cut) {
  if (std::getenv("RANK") == nullptr) {
    fs::remove_all(root());
    for (const char* name :
         {"random", "seedable", "uneven", "dispatched", "stream", "dispatched_stream"}) {
      fs::create_directories(root() / name);
    }
  }
  bool parent = on_ranks(before, [&] { train_all(cut); });
  parent = on_ranks(after, [&] { train_all({}); }) && parent;
  if (parent) {
    EXPECT_EQ(wrong_in_logs(), "") << before << " to " << after << ", epoch " << cut.epoch
                                   << " batch " << cut.batch << " after " << cut.after_loop;
  }
}

TEST(Resume, InMidEpochWithMoreProcesses) {
  expect_each_sample_once(2, 3, {.epoch = 1, .batch = 2});
}

TEST(Resume, InMidEpochWithFewerProcesses) {
  expect_each_sample_once(3, 2, {.epoch = 0, .batch = 1});
}

// The save counts the last batch as seen. The code after the loop still has to run.
TEST(Resume, AtTheLastBatchOfAnEpoch) { expect_each_sample_once(2, 2, {.epoch = 1, .batch = 4}); }

TEST(Resume, AfterTheLoopOfAnEpoch) {
  expect_each_sample_once(2, 3, {.epoch = 0, .after_loop = true});
}

// A run of one process whose weights depend on all of its state, to be compared with a run
// without an interruption.
struct ExactRun {
  explicit ExactRun(const fs::path& folder)
      : accelerator({.cpu = true,
                     .gradient_accumulation = {.num_steps = 3},
                     .project = {.project_dir = folder, .automatic_checkpoint_naming = true}}),
        net(1, 1),
        parts(accelerator.prepare(
            net, torch::optim::Adam(net->parameters(), 0.1),
            make_data_loader<torch::data::samplers::RandomSampler>(Numbers(kSamples), 3))),
        scheduler(accelerator.prepare(Scheduler(std::get<1>(parts), linear_schedule(2, 40)))) {}

  // Saves in batch `save_at`, and stops there if `stop`.
  std::vector<double> train(std::size_t save_at, bool stop) {
    auto& [model, adam, loader] = parts;
    std::size_t batches = 0;
    for ([[maybe_unused]] const std::size_t epoch : loader.epochs(kEpochs)) {
      for (auto& batch : loader) {
        const auto step = accelerator.accumulate(model);
        accelerator.backward(
            (model(batch.to(torch::kFloat).unsqueeze(1) / 23) + torch::rand({1})).square().mean());
        adam.step();
        scheduler.step();
        adam.zero_grad();
        if (++batches != save_at) continue;
        accelerator.save_state();
        if (stop) return {};
      }
    }
    return {net->weight.item<double>(), net->bias.item<double>(), scheduler.get_last_lr()[0],
            torch::rand({1}).item<double>()};
  }

  Accelerator accelerator;
  torch::nn::Linear net;
  std::tuple<Model<torch::nn::Linear>, Optimizer<torch::optim::Adam>,
             DataLoader<Numbers, torch::data::samplers::RandomSampler>>
      parts;
  Scheduler scheduler;
};

// An epoch has eight batches, and a window of accumulation three; the last window is short.
TEST(Resume, ToTheBitAtEveryBatchOfAWindow) {
  const fs::path folder = root() / "exact";
  for (std::size_t save_at = 1; save_at <= 10; ++save_at) {
    torch::manual_seed(7);
    fs::remove_all(folder);
    const std::vector<double> whole = ExactRun(folder).train(save_at, /*stop=*/false);
    torch::manual_seed(99);
    ExactRun resumed(folder);
    ASSERT_TRUE(resumed.accelerator.resume_from_newest());
    EXPECT_EQ(resumed.train(0, false), whole) << save_at;
  }
}

// Two processes save an open window, and one process resumes with its gradients.
TEST(Resume, AWindowOfTwoProcessesEndsInOne) {
  const fs::path folder = root() / "window";
  const auto gradients = [&](bool first) {
    Accelerator accelerator({.cpu = true, .gradient_accumulation = {.num_steps = 2}});
    torch::nn::Linear net(2, 1);
    auto model = accelerator.prepare(net);
    if (!first) accelerator.load_state(folder);
    const auto step = accelerator.accumulate(model);
    const auto value = static_cast<float>(first ? 1 + accelerator.process_index() : 7);
    accelerator.backward(model(torch::full({1, 2}, value)).sum());
    if (first) accelerator.save_state(folder);
    return net->weight.grad()[0][0].item<float>();
  };
  on_ranks(2, [&] { gradients(true); });
  // Half of the mean of 1 and 2, plus half of 7.
  if (std::getenv("RANK") != nullptr) return;
  EXPECT_EQ(gradients(false), 0.75f + 3.5f);
}

// Returns the learning rate after each batch of a run with LibTorch's StepLR. The run saves after
// batch `save_after`; if that is 0, it begins with the saved checkpoint instead.
std::vector<double> rates_of_step_lr(const fs::path& folder, int batches, int save_after) {
  Accelerator accelerator({.cpu = true, .gradient_accumulation = {.num_steps = 2}});
  torch::nn::Linear net(1, 1);
  auto [model, sgd] = accelerator.prepare(net, torch::optim::SGD(net->parameters(), 1.0));
  const auto step_lr = std::make_shared<torch::optim::StepLR>(*sgd, 5, 0.5);
  auto scheduler = accelerator.prepare(step_lr);
  if (save_after == 0) {
    scheduler = accelerator.prepare(step_lr);  // The same scheduler.
    accelerator.load_state(folder);
  }
  std::vector<double> rates;
  for (int batch = 1; batch <= batches; ++batch) {
    const auto step = accelerator.accumulate(model);
    accelerator.backward(model(torch::ones({1, 1})).sum());
    sgd.step();
    scheduler.step();
    sgd.zero_grad();
    rates.push_back(sgd->param_groups()[0].options().get_lr());
    if (batch != save_after) continue;
    accelerator.save_state(folder);
    accelerator.wait_for_save();
  }
  return rates;
}

// Two processes make two steps of the schedule for each batch, so the rate falls at other batches.
TEST(Resume, TheDecayOfLibTorchsSchedulersContinues) {
  const auto expect_same_rates = [](const std::string& name, double last) {
    const fs::path folder = root() / name;
    std::vector<double> whole = rates_of_step_lr(folder, 24, 7);
    EXPECT_EQ(whole.back(), last);
    whole.erase(whole.begin(), whole.begin() + 7);
    EXPECT_EQ(rates_of_step_lr(folder, 17, 0), whole);
  };
  on_ranks(2, [&] { expect_same_rates("step_lr_of_two", 1.0 / 16); });
  if (std::getenv("RANK") == nullptr) expect_same_rates("step_lr", 1.0 / 4);
}

// Returns the loss scales in the steps from `first` to `last` of a run in fp16. Step 5 overflows.
// The run saves after step 6. If it does not begin with the first step, it loads the checkpoint.
std::vector<float> loss_scales(const fs::path& folder, int first, int last) {
  Accelerator accelerator({.cpu = true,
                           .mixed_precision = MixedPrecision::kFp16,
                           .loss_scaling = {.init_scale = 64, .growth_interval = 3}});
  torch::nn::Linear net(1, 1);
  auto [model, sgd] = accelerator.prepare(net, torch::optim::SGD(net->parameters(), 0.125));
  if (first > 1) accelerator.load_state(folder);
  std::vector<float> scales;
  for (int step = first; step <= last; ++step) {
    accelerator.backward(model(torch::full({1, 1}, step == 5 ? INFINITY : 1.0f)).sum());
    scales.push_back(net->bias.grad().item<float>());
    sgd.step();
    EXPECT_EQ(sgd.step_was_skipped(), step == 5);
    sgd.zero_grad();
    if (step != 6) continue;
    accelerator.save_state(folder);
    accelerator.wait_for_save();
  }
  return scales;
}

// One of the three steps before the next growth has been made. If the count were not saved, the
// scale would grow later.
TEST(Resume, TheLossScaleContinuesInAnyNumberOfProcesses) {
  const fs::path folder = root() / "loss_scale";
  const auto scales_are = [](const std::vector<float>& scales, const std::vector<float>& wanted) {
    EXPECT_EQ(scales, wanted);
  };
  on_ranks(2, [&] {
    scales_are(loss_scales(folder, 1, 12), {64, 64, 64, 128, 128, 64, 64, 64, 128, 128, 128, 256});
  });
  const auto resumed = [&] {
    scales_are(loss_scales(folder, 7, 12), {64, 64, 128, 128, 128, 256});
  };
  on_ranks(2, resumed);
  on_ranks(3, resumed);
  if (std::getenv("RANK") == nullptr) resumed();
}

// Files that hooks write on any rank are part of the checkpoint. A hook that throws fails the save
// on all ranks.
TEST(Hooks, PutFilesIntoACheckpointAndTakeThemBack) {
  const fs::path folder = root() / "hooked";
  if (std::getenv("RANK") == nullptr) fs::remove_all(folder);
  on_ranks(2, [&] {
    Accelerator accelerator({.cpu = true});
    const std::string mine = "vocabulary_" + std::to_string(accelerator.process_index());
    bool fail = false;
    std::string read;
    accelerator.register_save_state_pre_hook([&](const std::string& where) {
      if (fail && accelerator.process_index() == 1) throw std::runtime_error("no vocabulary");
      std::ofstream(fs::path(where) / mine) << "words of " << mine;
    });
    accelerator.register_load_state_pre_hook([&](const std::string& where) {
      std::getline(std::ifstream(fs::path(where) / mine), read);
    });
    accelerator.save_state(folder);
    accelerator.wait_for_save();
    accelerator.load_state(folder);
    EXPECT_EQ(read, "words of " + mine);

    fail = true;
    try {
      accelerator.save_state(folder);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::exception& error) {
      EXPECT_THAT(error.what(), HasSubstr("no vocabulary"));
    }
    accelerator.wait_for_everyone();
    if (accelerator.is_main_process()) std::ofstream(folder / "vocabulary_1") << "changed";
    EXPECT_ANY_THROW(accelerator.load_state(folder));
  });
}

}  // namespace
}  // namespace accel::runtime
