// Trains on numbered samples in an elastic job, and counts how often each one was seen:
//
//   accel submit --nodes 1:3 elastic_training FOLDER
//
// The counts are part of the checkpoints. At the end they therefore describe the history that the
// final parameters stand on: the batches that led to each checkpoint that was loaded, and those
// after the last one. Each sample must be in it once per epoch, whatever the world sizes were.
//
// Rank 0 writes the number of batches into FOLDER/batches.GENERATION after each one. There is a
// pause after each batch until FOLDER/hurry exists, and a longer one if FOLDER/slow exists.
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "accel/accelerator.h"
#include "accel/data_loader.h"
#include "runtime/testing/training.h"

namespace {

constexpr std::int64_t kSamples = 601;
constexpr std::int64_t kEpochs = 2;
constexpr std::int64_t kBatch = 2;
constexpr std::int64_t kSaveEvery = 20;
constexpr useconds_t kPause = 100'000;

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

bool train(const std::filesystem::path& folder) {
  accel::Accelerator accelerator(
      {.project = {
           .project_dir = folder.string(), .automatic_checkpoint_naming = true, .total_limit = 3}});
  torch::nn::Linear net(1, 1);
  auto [model, adam, loader] = accelerator.prepare(
      net, torch::optim::Adam(net->parameters(), 0.01),
      accel::make_data_loader<torch::data::samplers::RandomSampler>(
          accel::runtime::Numbers(kSamples), torch::data::DataLoaderOptions(kBatch).workers(1)));
  Progress progress;
  accelerator.register_for_checkpointing(progress);
  accelerator.resume_from_newest();
  accelerator.print("generation ", std::getenv("ACCEL_GENERATION"), " has ",
                    accelerator.num_processes(), " ranks and begins after batch ",
                    progress.batches);
  std::ofstream written(folder / (std::string("batches.") + std::getenv("ACCEL_GENERATION")));
  for (const std::size_t epoch : loader.epochs(kEpochs)) {
    for (auto& batch : loader) {
      adam.zero_grad();
      accelerator.backward(model(batch.unsqueeze(1).to(torch::kFloat) / kSamples).square().mean());
      adam.step();
      const torch::Tensor samples = accelerator.gather_for_metrics(batch);
      progress.seen[static_cast<std::int64_t>(epoch)].index_add_(0, samples,
                                                                 torch::ones_like(samples));
      ++progress.batches;
      if (progress.batches % kSaveEvery == 0) accelerator.save_state();
      accelerator.on_main_process([&] { written << progress.batches << std::endl; });
      const auto asked_to = [&](const char* file) {
        return std::filesystem::exists(folder / file);
      };
      if (!asked_to("hurry")) usleep(asked_to("slow") ? 4 * kPause : kPause);
    }
  }
  accelerator.wait_for_save();
  bool finite = true;
  for (const torch::Tensor& parameter : net->parameters()) {
    finite &= parameter.isfinite().all().item<bool>();
  }
  const bool once = progress.seen.eq(1).all().item<bool>();
  accelerator.print(finite ? "finite parameters" : "parameters that are not finite");
  accelerator.print(once ? "every sample once in each epoch" : "samples are lost or repeated");
  return finite && once;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return argc == 2 && train(argv[1]) ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "elastic_training: " << error.what() << std::endl;
    return 1;
  }
}
