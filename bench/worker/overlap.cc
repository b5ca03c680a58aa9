// Times backward passes of two ranks that are late in different places. A step should take one
// delay. It takes two if a rank that waits for the other cannot continue to compute.
//
//   overlap DELAY_MS STEPS
//
// There are 64 MiB of gradients in three buckets. Rank 0 is late with its last gradient, rank 1
// with its first. Rank 0 prints the median of its steps in milliseconds, and the transport
// between the ranks.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "accel/accelerator.h"
#include "runtime/testing/training.h"

namespace {

constexpr std::int64_t kWidth = 2364;  // Square matrices of 21.3 MiB, a bucket each.

struct Net : torch::nn::Module {
  Net() {
    for (int i = 0; i < 3; ++i) {
      const auto options = torch::nn::LinearOptions(kWidth, kWidth).bias(false);
      layers.push_back(register_module("layer" + std::to_string(i), torch::nn::Linear(options)));
    }
  }

  // The gradient of `late_layer` is ready only after `delay`.
  torch::Tensor forward(torch::Tensor x) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      x = layers[i](x);
      if (i != late_layer) continue;
      x.register_hook(
          [delay = delay](const torch::Tensor&) { std::this_thread::sleep_for(delay); });
    }
    return x;
  }

  std::vector<torch::nn::Linear> layers;
  std::size_t late_layer = 0;
  std::chrono::milliseconds delay{};
};

bool shares_memory() {
  std::ifstream maps("/proc/self/maps");
  const std::string text{std::istreambuf_iterator<char>(maps), {}};
  return text.find("/memfd:accel-") != std::string::npos;
}

void train(std::chrono::milliseconds delay, int steps) {
  at::set_num_threads(1);
  accel::Accelerator accelerator;
  auto net = std::make_shared<Net>();
  auto model = accelerator.prepare(net);
  net->late_layer = accelerator.is_main_process() ? 0 : net->layers.size() - 1;
  const torch::Tensor x = torch::randn({1, kWidth});
  std::vector<double> times;
  for (int step = -1; step < steps; ++step) {
    if (step == 0) net->delay = delay;  // Buckets are derived from the first pass.
    accelerator.wait_for_everyone();
    const auto begin = std::chrono::steady_clock::now();
    accelerator.backward(model(x).sum());
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    if (step >= 0) times.push_back(took.count());
  }
  if (!accelerator.is_main_process()) return;
  std::nth_element(times.begin(), times.begin() + steps / 2, times.end());
  std::printf("step %.1f ms over %s\n", times[static_cast<std::size_t>(steps) / 2],
              shares_memory() ? "shared memory" : "sockets");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "overlap DELAY_MS STEPS\n");
    return 2;
  }
  try {
    train(std::chrono::milliseconds(std::stoi(argv[1])), std::max(1, std::stoi(argv[2])));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "overlap: %s\n", error.what());
    return 1;
  }
}
