// Makes one complete training step (Accelerator, prepare(), a loader, forward, backward and an
// optimizer step). Rank 0 prints the monotonic time in nanoseconds when it was finished. The
// benchmark measures the time from exec to that moment.
#include <time.h>

#include <cstdio>
#include <cstdlib>

#include "accel/accelerator.h"
#include "accel/data_loader.h"
#include "bench/worker/ready_samples.h"

namespace {

void step() {
  accel::Accelerator accelerator({.cpu = true});
  torch::nn::Sequential mlp(torch::nn::Linear(64, 64), torch::nn::ReLU(),
                            torch::nn::Linear(64, 10));
  torch::optim::SGD sgd(mlp->parameters(), 0.1);
  auto [model, optimizer, loader] = accelerator.prepare(
      mlp, std::move(sgd),
      accel::make_data_loader(ReadySamples(64, 64).map(torch::data::transforms::Stack<>()), 8));
  for (const auto& batch : loader) {
    auto loss = torch::nn::functional::cross_entropy(model(batch.data), batch.target);
    accelerator.backward(loss);
    optimizer.step();
    optimizer.zero_grad();
    break;
  }
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (accelerator.is_main_process())
    std::printf("%lld\n", now.tv_sec * 1'000'000'000LL + now.tv_nsec);
}

}  // namespace

int main() {
  try {
    step();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "first_step: %s\n", error.what());
    return 1;
  }
}
