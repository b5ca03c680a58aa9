// Trains on numbered samples, saves at intervals, and resumes from the newest checkpoint:
//
//   accel launch --cpu --num_processes 2 --max_restarts 1 resuming_training FOLDER BATCH
//
// In the first generation the last rank kills itself in batch BATCH, counted from 1. In the end
// every sample must have contributed to the state exactly once per epoch, and rank 0 reports that.
#include <signal.h>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "accel/accelerator.h"
#include "accel/data_loader.h"
#include "runtime/testing/training.h"

namespace {

constexpr std::int64_t kSamples = 58;
constexpr std::int64_t kEpochs = 3;

// How often each sample was seen in each epoch, and the number of batches.
struct Progress {
  void save(torch::serialize::OutputArchive& archive) const {
    archive.write("seen", seen);
    archive.write("batches", torch::tensor(batches));
  }
  void load(torch::serialize::InputArchive& archive) {
    torch::Tensor count;
    archive.read("seen", seen);
    archive.read("batches", count);
    batches = count.item<std::int64_t>();
  }
  torch::Tensor seen = torch::zeros({kEpochs, kSamples}, torch::kLong);
  std::int64_t batches = 0;
};

bool train(const std::string& folder, std::int64_t killed_in) {
  accel::Accelerator accelerator(
      {.project = {.project_dir = folder, .automatic_checkpoint_naming = true, .total_limit = 2}});
  torch::nn::Linear net(1, 1);
  auto [model, adam, loader] =
      accelerator.prepare(net, torch::optim::Adam(net->parameters(), 0.01),
                          accel::make_data_loader<torch::data::samplers::RandomSampler>(
                              accel::runtime::Numbers(kSamples), 4));
  Progress progress;
  accelerator.register_for_checkpointing(progress);
  const bool resumed = accelerator.resume_from_newest();
  accelerator.print(resumed ? "goes on after batch " : "begins after batch ", progress.batches);
  const char* restarts = std::getenv("TORCHELASTIC_RESTART_COUNT");
  const bool first = restarts == nullptr || restarts == std::string("0");
  for (const std::size_t epoch : loader.epochs(kEpochs)) {
    for (auto& batch : loader) {
      adam.zero_grad();
      accelerator.backward(model(batch.unsqueeze(1).to(torch::kFloat)).square().mean());
      adam.step();
      const torch::Tensor samples = accelerator.gather_for_metrics(batch);
      progress.seen[static_cast<std::int64_t>(epoch)].index_add_(0, samples,
                                                                 torch::ones_like(samples));
      ++progress.batches;
      if (first && accelerator.is_last_process() && progress.batches == killed_in) raise(SIGKILL);
      if (progress.batches % 3 == 0) accelerator.save_state();
    }
  }
  accelerator.wait_for_save();
  const bool once = progress.seen.eq(1).all().item<bool>();
  accelerator.print(once ? "every sample once in each epoch" : "samples are lost or repeated");
  return once;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return argc == 3 && train(argv[1], std::stol(argv[2])) ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "resuming_training: " << error.what() << std::endl;
    return 1;
  }
}
