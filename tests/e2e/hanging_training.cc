// Trains with gather() in each step. In the first generation, rank 1 stays out of a gather():
//
//   accel launch --cpu --num_processes 2 --hang_timeout 4 hanging_training
//
// It first iterates over a loader of its own for a while, so that its last sign of progress comes
// after that of rank 0, which waits in the gather(). Then it spins. The next generation trains to
// the end, and then saves slowly.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "accel/accelerator.h"
#include "accel/data_loader.h"
#include "runtime/testing/training.h"

namespace {

constexpr std::int64_t kSamples = 80;
constexpr int kHangsIn = 10;

auto make_loader() {
  return accel::make_data_loader<torch::data::samplers::SequentialSampler>(
      accel::runtime::Numbers(kSamples), 2);
}

void train() {
  accel::Accelerator accelerator;
  auto [loader, others] = accelerator.prepare(make_loader(), make_loader());
  const bool first = std::getenv("ACCEL_GENERATION") == std::string("1");
  int step = 0;
  for (auto& batch : loader) {
    usleep(50'000);
    if (++step == kHangsIn && first && accelerator.process_index() == 1) {
      for ([[maybe_unused]] auto& other : others) usleep(100'000);
      for (std::atomic<bool> forever = true; forever;) {
      }
    }
    accelerator.gather(batch);
  }
  // A rank may be silent for 4 s, and may wait for another one for 6 s. A slow save is neither.
  accelerator.register_save_state_pre_hook([&](const std::string&) {
    if (accelerator.is_main_process()) usleep(7'000'000);
  });
  accelerator.save_state("checkpoint");
  accelerator.print("trained to the end");
}

}  // namespace

int main() {
  try {
    train();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "hanging_training: " << error.what() << std::endl;
    return 1;
  }
}
