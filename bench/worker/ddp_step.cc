// Times data parallel training steps of a small perceptron; the peer of bench/workers/ddp_step.py.
//
//   ddp_step WIDTH BATCH STEPS
//
// Every rank makes 20 warm-up steps and then STEPS more on its own fixed batch. Afterwards each
// rank prints a digest of its parameters' bits, and the transport of its gradients. Rank 0 prints
// the median time of a step in microseconds.
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include "accel/accelerator.h"

namespace {

constexpr int kWarmUp = 20;

torch::nn::Sequential make_net(std::int64_t width) {
  using torch::nn::Linear;
  return torch::nn::Sequential(Linear(width, width), torch::nn::ReLU(), Linear(width, width),
                               torch::nn::ReLU(), Linear(width, 10));
}

// Returns a digest of the parameters' bits, so that any difference between parameters changes it.
std::size_t digest_of(const torch::nn::Module& module) {
  std::string bits;
  for (const torch::Tensor& parameter : module.parameters()) {
    const torch::Tensor plain = parameter.detach().contiguous();
    bits.append(static_cast<const char*>(plain.const_data_ptr()), plain.nbytes());
  }
  return std::hash<std::string>()(bits);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// Returns the transport between the ranks. Reads the kernel's list of this process's mappings and
// not a setting, because a comparison of two settings must show that they really differ.
const char* transport() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/memfd:accel-") != std::string::npos) return "shared memory";
  }
  return "sockets";
}

void train(std::int64_t width, std::int64_t batch, int steps) {
  at::set_num_threads(1);
  accel::Accelerator accelerator;
  torch::manual_seed(42);
  auto net = make_net(width);
  auto sgd = torch::optim::SGD(net->parameters(), 0.01);
  auto [model, optimizer] = accelerator.prepare(net, std::move(sgd));
  torch::manual_seed(accelerator.process_index());
  const torch::Tensor x = torch::randn({batch, width});
  const torch::Tensor y = torch::randint(10, {batch});

  std::vector<double> times;
  for (int step = -kWarmUp; step < steps; ++step) {
    const auto begin = std::chrono::steady_clock::now();
    optimizer.zero_grad();
    const torch::Tensor loss = torch::nn::functional::cross_entropy(model(x), y);
    accelerator.backward(loss);
    optimizer.step();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    if (step >= 0) times.push_back(took.count());
  }
  std::printf("parameters %zx\n", digest_of(*net));
  std::printf("transport %s\n", transport());
  if (accelerator.is_main_process()) std::printf("step %.1f us\n", median(times));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "ddp_step WIDTH BATCH STEPS\n");
    return 2;
  }
  try {
    train(std::stol(argv[1]), std::stol(argv[2]), std::stoi(argv[3]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ddp_step: %s\n", error.what());
    return 1;
  }
}
