// Times training steps of a residual perceptron on a GPU, with AdamW; the peer of
// bench/workers/gpu_step.py.
//
//   gpu_step WIDTH LAYERS ROWS PRECISION STEPS [FOLDER]
//
// PRECISION is no or bf16. Every rank trains on its own fixed batch. Rank 0 prints a line for each
// figure, in microseconds: `step_OPTIMIZER` for a step, `clip_OPTIMIZER` for a step with
// clip_grad_norm_(). With FOLDER it also saves there, and prints in microseconds how much longer a
// step takes because of save_state() before it (`stall`), and the time until the checkpoint is
// durable (`durable`). `device` and `fused_OPTIMIZER` report what was really used.
#include <ATen/record_function.h>
#include <torch/cuda.h>
#include <torch/nn/modules/normalization.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "accel/accelerator.h"
#include "accel/optim.h"
#include "runtime/testing/training.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmUp = 10, kBlocks = 5;

struct Options {
  std::int64_t width, layers, rows;
  accel::MixedPrecision precision;
  int steps;
  std::string folder;
};

struct BlockImpl : torch::nn::Module {
  explicit BlockImpl(std::int64_t width)
      : norm(register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})))),
        up(register_module("up", torch::nn::Linear(width, 4 * width))),
        down(register_module("down", torch::nn::Linear(4 * width, width))) {}
  torch::Tensor forward(const torch::Tensor& x) { return x + down(torch::gelu(up(norm(x)))); }
  torch::nn::LayerNorm norm;
  torch::nn::Linear up, down;
};
TORCH_MODULE(Block);

torch::nn::Sequential make_net(const Options& options) {
  torch::manual_seed(42);
  torch::nn::Sequential net;
  for (std::int64_t i = 0; i < options.layers; ++i) net->push_back(Block(options.width));
  return net;
}

template <typename Body>
double microseconds(Body&& body) {
  torch::cuda::synchronize();
  const auto begin = Clock::now();
  body();
  torch::cuda::synchronize();
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// The median of `kBlocks` blocks of `steps` steps. The host waits for the GPU only between blocks.
template <typename Step>
double time_of(Step&& step, int steps) {
  for (int i = 0; i < kWarmUp; ++i) step();
  std::vector<double> times;
  for (int block = 0; block < kBlocks; ++block) {
    const double taken = microseconds([&] {
      for (int i = 0; i < steps; ++i) step();
    });
    times.push_back(taken / steps);
  }
  return median(std::move(times));
}

std::atomic<int> fused_calls = 0;

// Returns true if a fused optimizer runs in `step`, as seen by LibTorch's dispatcher: a comparison
// of two settings must show that they really differ.
template <typename Step>
bool calls_fused(Step&& step) {
  const at::CallbackHandle handle =
      at::addGlobalCallback(at::RecordFunctionCallback([](const at::RecordFunction& call)
                                                           -> std::unique_ptr<at::ObserverContext> {
                              if (std::string_view(call.name()).starts_with("aten::_fused_adam"))
                                ++fused_calls;
                              return nullptr;
                            }).scopes({at::RecordScope::FUNCTION}));
  fused_calls = 0;
  step();
  at::removeCallback(handle);
  return fused_calls > 0;
}

// Prints how much longer a step takes after save_state(), in the second save of the process.
template <typename Step>
void time_save(accel::Accelerator& accelerator, const std::string& folder, Step&& step,
               double plain) {
  for (const bool is_printed : {false, true}) {
    const auto begin = Clock::now();
    const double taken = microseconds([&] {
      accelerator.save_state(folder);
      step();
    });
    accelerator.wait_for_save();
    const std::chrono::duration<double, std::micro> durable = Clock::now() - begin;
    std::filesystem::remove_all(folder);
    if (is_printed) std::printf("stall %.0f\ndurable %.0f\n", taken - plain, durable.count());
  }
}

template <typename AdamW>
void train(accel::Accelerator& accelerator, const Options& options, const char* name) {
  const bool is_main = accelerator.is_main_process();
  auto net = make_net(options);
  auto [model, optimizer] =
      accelerator.prepare(net, AdamW(net->parameters(), torch::optim::AdamWOptions(1e-3)));
  torch::manual_seed(accelerator.process_index());
  const torch::Tensor x = torch::randn({options.rows, options.width}).to(accelerator.device());
  const torch::Tensor y = torch::randn({options.rows, options.width}).to(accelerator.device());
  const std::vector<torch::Tensor> parameters = net->parameters();
  bool clips = false;
  const auto step = [&, &model = model, &optimizer = optimizer] {
    optimizer.zero_grad();
    accelerator.backward(torch::mse_loss(model(x), y));
    if (clips) accelerator.clip_grad_norm_(parameters, 1);
    optimizer.step();
  };
  const double plain = time_of(step, options.steps);
  clips = true;
  const double clipped = time_of(step, options.steps);
  clips = false;
  const bool is_fused = calls_fused(step);
  if (is_main) {
    std::printf("step_%s %.1f\nclip_%s %.1f\nfused_%s %d\n", name, plain, name, clipped, name,
                is_fused ? 1 : 0);
  }
  if (!options.folder.empty()) time_save(accelerator, options.folder, step, plain);
  accelerator.free_memory();
}

void run(const Options& options) {
  accel::Accelerator accelerator({.mixed_precision = options.precision});
  if (accelerator.is_main_process()) std::printf("device %s\n", accelerator.device().str().c_str());
  if (!accelerator.device().is_cuda()) return;
  Options steps_only = options;
  steps_only.folder.clear();
  train<torch::optim::AdamW>(accelerator, steps_only, "loop");
  train<accel::optim::AdamW>(accelerator, options, "fused");
}

Options parse(const std::vector<std::string>& arguments) {
  const auto number = [&](std::size_t i) { return std::stol(arguments[i]); };
  return {.width = number(0),
          .layers = number(1),
          .rows = number(2),
          .precision =
              arguments[3] == "bf16" ? accel::MixedPrecision::kBf16 : accel::MixedPrecision::kNo,
          .steps = static_cast<int>(number(4)),
          .folder = arguments.size() == 6 ? arguments[5] : ""};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6 && argc != 7) {
    std::fprintf(stderr, "gpu_step WIDTH LAYERS ROWS PRECISION STEPS [FOLDER]\n");
    return 2;
  }
  try {
    run(parse({argv + 1, argv + argc}));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_step: %s\n", error.what());
    return 1;
  }
}
