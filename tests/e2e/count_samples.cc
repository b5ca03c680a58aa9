// Iterates over 101 numbers for two epochs, and records in its checkpoints which of them
// it has seen:
//
//   count_samples FOLDER map|dispatched|stream [--kill_at STEP]
//
// A checkpoint is saved every third step, and the newest one is loaded at the start. With
// --kill_at, the last rank of generation 0 kills itself after that many steps, possibly while a
// checkpoint is still being written. At the end rank 0 prints everything that was seen.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "accel/accelerator.h"
#include "accel/data_loader.h"
#include "runtime/testing/datasets.h"

namespace {

constexpr std::size_t kNumbers = 101;

// The state that the checkpoint contains.
struct Seen {
  void save(torch::serialize::OutputArchive& archive) const {
    archive.write("seen", torch::tensor(numbers, torch::kLong));
  }
  void load(torch::serialize::InputArchive& archive) {
    torch::Tensor saved;
    archive.read("seen", saved);
    numbers = accel::runtime::values(saved);
  }
  accel::runtime::Values numbers;
};

bool first_generation() {
  const char* count = std::getenv("TORCHELASTIC_RESTART_COUNT");
  return count == nullptr || std::string(count) == "0";
}

template <typename Loader>
void count(accel::Accelerator& accelerator, Loader plain, std::size_t kill_at) {
  auto loader = accelerator.prepare(plain);
  Seen seen;
  accelerator.register_for_checkpointing(seen);
  accelerator.resume_from_newest();
  std::size_t steps = 0;
  while (loader.epoch() < 2) {
    for (const torch::Tensor& batch : loader) {
      for (std::int64_t number : accel::runtime::values(accelerator.gather_for_metrics(batch))) {
        seen.numbers.push_back(number);
      }
      if (++steps % 3 == 0) accelerator.save_state();
      if (steps == kill_at && accelerator.is_last_process()) kill(getpid(), SIGKILL);
    }
  }
  accelerator.wait_for_save();
  accelerator.on_main_process([&] {
    for (std::int64_t number : seen.numbers) std::printf("%lld ", static_cast<long long>(number));
    std::printf("\n");
  });
}

void run(const std::vector<std::string>& arguments) {
  const std::string kind = arguments.at(1);
  const std::size_t kill_at =
      arguments.size() > 3 && first_generation() ? std::stoul(arguments.at(3)) : 0;
  accel::Accelerator accelerator(
      {.dispatch_batches = kind == "dispatched",
       .data_seed = 7,
       .project = {.project_dir = arguments.at(0), .automatic_checkpoint_naming = true}});
  const auto options = torch::data::DataLoaderOptions(4).workers(2);
  if (kind == "stream") {
    count(accelerator, accel::make_data_loader(accel::runtime::StreamNumbers(kNumbers, 3), options),
          kill_at);
  } else {
    count(accelerator,
          accel::make_data_loader<torch::data::samplers::RandomSampler>(
              accel::runtime::MapNumbers(kNumbers), options),
          kill_at);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "count_samples: %s\n", error.what());
    return 1;
  }
}
