#include <torch/data.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/optim/sgd.h>
#include <torch/types.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "accel/accelerator.h"
#include "accel/data_loader.h"
#include "runtime/self_test/checks.h"

namespace accel::self_test {
namespace {

constexpr std::int64_t kBatch = 8;  // For each process.
constexpr double kRate = 0.1;

// y = a x + b.
struct LineImpl : torch::nn::Module {
  LineImpl()
      : a(register_parameter("a", torch::zeros({1}))),
        b(register_parameter("b", torch::zeros({1}))) {}
  torch::Tensor forward(const torch::Tensor& x) { return a * x + b; }
  torch::Tensor a, b;
};
TORCH_MODULE(Line);

// Points of a line with noise, the same in every process. Each sample has x and y.
struct Points : torch::data::datasets::BatchDataset<Points, torch::Tensor> {
  explicit Points(std::int64_t count) {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(7);
    const torch::Tensor x = torch::randn({count}, generator);
    points = torch::stack({x, 2 * x + 3 + 0.1 * torch::randn({count}, generator)}, 1);
  }
  torch::Tensor get_batch(c10::ArrayRef<std::size_t> indices) override {
    return points.index_select(
        0, torch::tensor(std::vector<std::int64_t>(indices.begin(), indices.end())));
  }
  std::optional<std::size_t> size() const override {
    return static_cast<std::size_t>(points.size(0));
  }
  torch::Tensor points;
};

torch::Tensor loss_of(const torch::Tensor& predicted, const torch::Tensor& batch) {
  return (predicted.to(torch::kFloat) - batch.select(1, 1)).square().mean();
}

std::int64_t point_count(const Accelerator& accelerator) {
  return 4 * kBatch * accelerator.num_processes();
}

// Trains in this process alone, with the batches of all processes.
Line train_alone(std::int64_t points, std::int64_t batch) {
  Line line;
  torch::optim::SGD sgd(line->parameters(), kRate);
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (const torch::Tensor& part : Points(points).points.split(batch)) {
      sgd.zero_grad();
      loss_of(line->forward(part.select(1, 0)), part).backward();
      sgd.step();
    }
  }
  return line;
}

struct Trained {
  Line line;
  double last_loss = 0;
};

Trained train_together(Accelerator* accelerator) {
  Line line;
  const bool split = accelerator->options().split_batches;
  const auto batch = split ? kBatch * accelerator->num_processes() : kBatch;
  auto [model, optimizer, loader] =
      accelerator->prepare(line, torch::optim::SGD(line->parameters(), kRate),
                           make_data_loader<torch::data::samplers::SequentialSampler>(
                               Points(point_count(*accelerator)), static_cast<size_t>(batch)));
  Trained trained{line};
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (const torch::Tensor& points : loader) {
      optimizer.zero_grad();
      const torch::Tensor loss = loss_of(model(points.select(1, 0)), points);
      accelerator->backward(loss);
      optimizer.step();
      trained.last_loss = loss.item<double>();
    }
  }
  return trained;
}

void expect_same(const Line& found, const Line& expected, double tolerance,
                 const std::string& what) {
  for (const auto& parameter : expected->named_parameters()) {
    const double is = found->named_parameters()[parameter.key()].item<double>();
    const double should_be = parameter.value().item<double>();
    expect(std::abs(is - should_be) <= tolerance, what + ": parameter " + parameter.key() + " is " +
                                                      std::to_string(is) + ", not " +
                                                      std::to_string(should_be));
  }
}

// The precision that `accel launch --mixed_precision` asks for holds in every Accelerator.
double tolerance_of(const Accelerator& accelerator) {
  return accelerator.mixed_precision() == MixedPrecision::kNo ? 1e-5 : 0.1;
}

void training_equals_one_process() {
  for (const bool split : {false, true}) {
    Accelerator accelerator({.split_batches = split});
    const Line together = train_together(&accelerator).line;
    const Line alone = train_alone(point_count(accelerator), kBatch * accelerator.num_processes());
    expect_same(together, alone, tolerance_of(accelerator),
                "training with " + std::to_string(accelerator.num_processes()) + " processes");
    const auto sum = accelerator.reduce(together->a.detach(), torch::kMean);
    expect(torch::equal(sum.cpu(), together->a.detach().cpu()), "the ranks have trained apart");
  }
}

void lower_precision_learns() {
  Accelerator accelerator({.mixed_precision = "bf16"});
  const double loss = train_together(&accelerator).last_loss;
  expect(loss < 1, "training in bf16 did not learn: its last loss is " + std::to_string(loss));
}

// Returns true if all ranks are on this machine, so that they share its folder for temporary files.
bool is_one_machine(const Accelerator& accelerator) {
  const char* local = std::getenv("LOCAL_WORLD_SIZE");
  return local == nullptr || std::to_string(accelerator.num_processes()) == local;
}

void a_checkpoint_resumes() {
  Accelerator accelerator;
  if (!is_one_machine(accelerator)) return;
  std::string folder;
  accelerator.on_main_process([&folder] {
    folder = (std::filesystem::temp_directory_path() / "accel_test_XXXXXX").string();
    expect(mkdtemp(folder.data()) != nullptr, "no folder can be made at " + folder);
  });
  folder = accelerator.broadcast_object(folder);
  const Line saved = train_together(&accelerator).line;
  accelerator.save_state(folder + "/checkpoint");
  accelerator.wait_for_save();
  const Line kept = train_alone(0, 1);
  {
    const torch::NoGradGuard no_grad;
    kept->a.copy_(saved->a);
    kept->b.copy_(saved->b);
    saved->a.zero_();
  }
  accelerator.load_state(folder + "/checkpoint");
  expect_same(saved, kept, 0, "after loading a checkpoint");
  accelerator.wait_for_everyone();
  accelerator.on_main_process([&folder] { std::filesystem::remove_all(folder); });
}

}  // namespace

std::vector<Check> training_checks() {
  return {{"training equals that of one process", training_equals_one_process},
          {"training in bf16 learns", lower_precision_learns},
          {"a checkpoint is saved and loaded", a_checkpoint_resumes}};
}

}  // namespace accel::self_test
