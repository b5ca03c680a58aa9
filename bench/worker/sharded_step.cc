// Times sharded training steps of a transformer, and measures their memory; the peer of
// bench/workers/sharded_step.py.
//
//   sharded_step MODE LAYERS WIDTH BATCH SEQUENCE STEPS
//
// MODE is ddp, full or grad_op. Every rank makes 3 warm-up steps and then STEPS more on its own
// fixed batch. Afterwards rank 0 prints the median time of a step in microseconds, the highest
// resident memory above that before the model was made in bytes per parameter, and the number of
// bytes that the rank holds of the parameters between steps.
#include <torch/nn/functional/loss.h>
#include <torch/optim/adamw.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "accel/accelerator.h"
#include "bench/worker/process_memory.h"
#include "bench/worker/transformer.h"

namespace {

constexpr int kWarmUp = 3;

std::optional<accel::ShardingOptions> sharding_of(const std::string& mode) {
  using accel::ShardingStrategy;
  if (mode == "ddp") return {};
  if (mode != "full" && mode != "grad_op") throw std::invalid_argument("unknown mode " + mode);
  return sharded_by_layer(mode == "full" ? ShardingStrategy::kFullShard
                                         : ShardingStrategy::kShardGradOp);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

void train(const std::string& mode, std::int64_t layers, std::int64_t width, std::int64_t batch,
           std::int64_t sequence, int steps) {
  at::set_num_threads(1);
  accel::Accelerator accelerator({.sharding = sharding_of(mode)});
  const double before = memory("VmRSS");
  torch::manual_seed(42);
  Network net(layers, width);
  std::int64_t parameters = 0;
  for (const torch::Tensor& parameter : net->parameters()) parameters += parameter.numel();
  auto adamw = torch::optim::AdamW(net->parameters(), 1e-4);
  auto [model, optimizer] = accelerator.prepare(net, std::move(adamw));
  torch::manual_seed(accelerator.process_index());
  const torch::Tensor x = torch::randint(kVocabulary, {batch, sequence}, torch::kLong);
  forget_highest_memory();
  std::vector<double> times;
  for (int step = -kWarmUp; step < steps; ++step) {
    const auto begin = std::chrono::steady_clock::now();
    optimizer.zero_grad();
    accelerator.backward(torch::nn::functional::cross_entropy(model(x).flatten(0, 1), x.flatten()));
    optimizer.step();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    if (step >= 0) times.push_back(took.count());
  }
  if (!accelerator.is_main_process()) return;
  const auto count = static_cast<double>(parameters);
  double held = 0;
  for (const torch::Tensor& parameter : net->parameters()) {
    held += static_cast<double>(parameter.storage().nbytes() > 0 ? parameter.nbytes() : 0);
  }
  std::printf("mode %s, %.0f parameters, whole between steps: %.0f bytes\n", mode.c_str(), count,
              held);
  std::printf("step %.1f us\n", median(times));
  std::printf("peak %.2f bytes per parameter, now %.2f\n", (memory("VmHWM") - before) / count,
              (memory("VmRSS") - before) / count);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr, "sharded_step MODE LAYERS WIDTH BATCH SEQUENCE STEPS\n");
    return 2;
  }
  try {
    train(argv[1], std::stol(argv[2]), std::stol(argv[3]), std::stol(argv[4]), std::stol(argv[5]),
          std::stoi(argv[6]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sharded_step: %s\n", error.what());
    return 1;
  }
}
