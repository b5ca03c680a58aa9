// The C++ code of docs/migrating.md. migrating_page_test.py compares the page with the regions
// below. Each raw loop and its accelerated version train the same net on the same data. On one
// process they must end with the same parameters.
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

#include "accel/accelerator.h"
#include "accel/data_loader.h"

// The regions are shown on the page as programs of their own, so a name may stand in several
// blocks.
#pragma GCC diagnostic ignored "-Wshadow"

namespace {

namespace F = torch::nn::functional;

// 64 points in 4 dimensions, in 3 classes.
class Points : public torch::data::datasets::Dataset<Points> {
 public:
  Points() {
    torch::manual_seed(0);
    points_ = torch::randn({64, 4});
    classes_ = points_.narrow(1, 0, 3).argmax(1);
  }
  torch::data::Example<> get(std::size_t index) override {
    return {points_[static_cast<std::int64_t>(index)], classes_[static_cast<std::int64_t>(index)]};
  }
  std::optional<std::size_t> size() const override { return points_.size(0); }

 private:
  torch::Tensor points_, classes_;
};

class Migrating : public testing::Test {
 protected:
  static torch::nn::Linear make_net() {
    torch::manual_seed(1);
    return torch::nn::Linear(4, 3);
  }

  void expect_same(double tolerance = 1e-5) {
    EXPECT_TRUE(torch::allclose(raw->weight, net->weight, 0, tolerance))
        << raw->weight << net->weight;
    EXPECT_FALSE(torch::allclose(net->weight, make_net()->weight, 0, 0.01)) << "nothing was learnt";
  }

  const decltype(Points().map(torch::data::transforms::Stack<>())) dataset =
      Points().map(torch::data::transforms::Stack<>());
  const torch::nn::Linear raw = make_net(), net = make_net();
};

void plain_loop(torch::nn::Linear net, auto dataset) {
  // [plain loop: raw]
  torch::Device device = torch::cuda::is_available() ? torch::kCUDA : torch::kCPU;
  net->to(device);
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  auto loader = torch::data::make_data_loader(dataset, 64);
  for (auto& batch : *loader) {
    optimizer.zero_grad();
    auto output = net(batch.data.to(device));
    auto loss = F::cross_entropy(output, batch.target.to(device));
    loss.backward();
    optimizer.step();
  }
  // [end]
}

TEST_F(Migrating, PlainLoop) {
  plain_loop(raw, dataset);
  // [plain loop: accelerated]
  accel::Accelerator accelerator;
  auto [model, optimizer, loader] = accelerator.prepare(
      net, torch::optim::SGD(net->parameters(), 0.1), accel::make_data_loader(dataset, 64));
  for (auto& batch : loader) {
    optimizer.zero_grad();
    auto output = model(batch.data);
    auto loss = F::cross_entropy(output, batch.target);
    accelerator.backward(loss);
    optimizer.step();
  }
  // [end]
  expect_same();
}

double raw_accuracy(torch::nn::Linear net, auto test_set) {
  const auto test_loader = torch::data::make_data_loader(test_set, 10);
  // [evaluation: raw]
  net->eval();
  torch::NoGradGuard no_grad;
  std::int64_t correct = 0, samples = 0;
  for (auto& batch : *test_loader) {
    auto guesses = net(batch.data).argmax(1);
    correct += (guesses == batch.target).sum().template item<std::int64_t>();
    samples += batch.target.size(0);
  }
  std::cout << "accuracy " << static_cast<double>(correct) / samples << std::endl;
  // [end]
  return static_cast<double>(correct) / samples;
}

TEST_F(Migrating, Evaluation) {
  const double expected = raw_accuracy(raw, dataset);
  accel::Accelerator accelerator;
  auto [model, test_loader] = accelerator.prepare(net, accel::make_data_loader(dataset, 10));
  // [evaluation: accelerated]
  model->eval();
  torch::NoGradGuard no_grad;
  std::int64_t correct = 0, samples = 0;
  for (auto& batch : test_loader) {
    auto [guesses, targets] =
        accelerator.gather_for_metrics(model(batch.data).argmax(1), batch.target);
    correct += (guesses == targets).sum().item<std::int64_t>();
    samples += targets.size(0);
  }
  accelerator.print("accuracy ", static_cast<double>(correct) / samples);
  // [end]
  EXPECT_EQ(static_cast<double>(correct) / samples, expected);
  EXPECT_EQ(samples, 64);
}

void accumulation(torch::nn::Linear net, auto dataset) {
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  const auto loader = torch::data::make_data_loader(dataset, 16);
  // [accumulation: raw]
  int index = 0;
  for (auto& batch : *loader) {
    auto loss = F::cross_entropy(net(batch.data), batch.target);
    (loss / 4).backward();
    if (++index % 4 == 0) {
      optimizer.step();
      optimizer.zero_grad();
    }
  }
  // [end]
}

TEST_F(Migrating, Accumulation) {
  accumulation(raw, dataset);
  // [accumulation: accelerated]
  accel::Accelerator accelerator({.gradient_accumulation = {.num_steps = 4}});
  // [end]
  auto [model, optimizer, loader] = accelerator.prepare(
      net, torch::optim::SGD(net->parameters(), 0.1), accel::make_data_loader(dataset, 16));
  // [accumulation: accelerated]
  for (auto& batch : loader) {
    auto window = accelerator.accumulate(model);
    auto loss = F::cross_entropy(model(batch.data), batch.target);
    accelerator.backward(loss);
    optimizer.step();
    optimizer.zero_grad();
  }
  // [end]
  expect_same();
}

void clipping(torch::nn::Linear net, auto dataset) {
  torch::optim::SGD optimizer(net->parameters(), 1.0);
  const auto loader = torch::data::make_data_loader(dataset, 64);
  for (auto& batch : *loader) {
    auto loss = F::cross_entropy(net(batch.data), batch.target);
    // [clipping: raw]
    loss.backward();
    torch::nn::utils::clip_grad_norm_(net->parameters(), 0.1);
    optimizer.step();
    // [end]
  }
}

TEST_F(Migrating, Clipping) {
  clipping(raw, dataset);
  accel::Accelerator accelerator;
  auto [model, optimizer, loader] = accelerator.prepare(
      net, torch::optim::SGD(net->parameters(), 1.0), accel::make_data_loader(dataset, 64));
  for (auto& batch : loader) {
    auto loss = F::cross_entropy(model(batch.data), batch.target);
    // [clipping: accelerated]
    accelerator.backward(loss);
    if (accelerator.sync_gradients()) {
      accelerator.clip_grad_norm_(model->parameters(), 0.1);
    }
    optimizer.step();
    // [end]
  }
  expect_same();
}

void mixed_precision(torch::nn::Linear net, auto dataset) {
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  const auto loader = torch::data::make_data_loader(dataset, 64);
  for (auto& batch : *loader) {
    // [mixed precision: raw]
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::set_autocast_enabled(at::kCPU, true);
    auto output = net(batch.data).to(torch::kFloat);
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, false);
    auto loss = F::cross_entropy(output, batch.target);
    loss.backward();
    optimizer.step();
    // [end]
  }
}

TEST_F(Migrating, MixedPrecision) {
  mixed_precision(raw, dataset);
  // [mixed precision: accelerated]
  accel::Accelerator accelerator({.mixed_precision = accel::MixedPrecision::kBf16});
  // [end]
  auto [model, optimizer, loader] = accelerator.prepare(
      net, torch::optim::SGD(net->parameters(), 0.1), accel::make_data_loader(dataset, 64));
  for (auto& batch : loader) {
    // [mixed precision: accelerated]
    auto loss = F::cross_entropy(model(batch.data), batch.target);
    accelerator.backward(loss);
    optimizer.step();
    // [end]
  }
  expect_same(1e-3);
}

std::string fresh_folder(const std::string& name) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "migrating" / name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder.parent_path());
  return folder;
}

TEST_F(Migrating, SaveAndLoad) {
  const std::string raw_folder = fresh_folder("raw"), folder = fresh_folder("accelerated");
  std::filesystem::create_directories(raw_folder);
  {
    torch::nn::Linear net = raw;
    torch::optim::Adam optimizer(net->parameters());
    const std::string folder = raw_folder;
    // [save and load: raw]
    torch::save(net, folder + "/net.pt");
    torch::save(optimizer, folder + "/optimizer.pt");

    torch::load(net, folder + "/net.pt");
    torch::load(optimizer, folder + "/optimizer.pt");
    // [end]
  }
  accel::Accelerator accelerator;
  auto [model, optimizer] = accelerator.prepare(net, torch::optim::Adam(net->parameters()));
  // [save and load: accelerated]
  accelerator.save_model(model, folder + "/weights");  // For others: safetensors.
  accelerator.save_state(folder + "/state");           // All of the run, in the background.
  accelerator.wait_for_save();

  accelerator.load_state(folder + "/state");
  // [end]
  EXPECT_TRUE(std::filesystem::exists(folder + "/weights/model.safetensors"));

  const std::string project = fresh_folder("project");
  {
    // [save and load: automatic]
    accel::Accelerator accelerator(
        {.project = {
             .project_dir = project, .automatic_checkpoint_naming = true, .total_limit = 2}});
    // [end]
    auto [model, optimizer] = accelerator.prepare(net, torch::optim::Adam(net->parameters()));
    // [save and load: automatic]
    accelerator.resume_from_newest();  // At the start; nothing if there is none.
    accelerator.save_state();          // Now and then; checkpoints/checkpoint_0, ...
    // [end]
    accelerator.end_training();
  }
  EXPECT_TRUE(std::filesystem::exists(project + "/checkpoints/checkpoint_0/manifest.json"));
}

int prepare_data() { return 1; }
void read_data() {}

TEST_F(Migrating, OneProcessOnly) {
  {
    // [one process only: raw]
    const char* rank = std::getenv("RANK");
    if (rank == nullptr || std::string(rank) == "0") std::cout << "begins" << std::endl;
    // [end]
  }
  accel::Accelerator accelerator;
  // [one process only: accelerated]
  accelerator.print("begins");
  accelerator.on_main_process([&] { prepare_data(); });
  accelerator.wait_for_everyone();
  accelerator.main_process_first([&] { read_data(); });
  // [end]
}

TEST_F(Migrating, Tracking) {
  const std::string folder = fresh_folder("tracking");
  // [tracking: accelerated]
  accel::Accelerator accelerator(
      {.project = {.project_dir = folder}, .log_with = {"tensorboard", "jsonl"}});
  accelerator.init_trackers("my_project", {{"lr", 0.1}, {"epochs", 3}});
  accelerator.log({{"train_loss", 1.12}, {"valid_loss", 0.8}}, /*step=*/1);
  accelerator.end_training();
  // [end]
  EXPECT_TRUE(std::filesystem::exists(folder + "/my_project/metrics.jsonl"));
}

}  // namespace
