// A small training run whose state a test saves and loads, and folders for its checkpoints.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "accel/accelerator.h"
#include "runtime/testing/training.h"

namespace accel::runtime {

namespace fs = std::filesystem;

inline fs::path fresh_folder(const std::string& name = "checkpoints_test") {
  const fs::path folder = fs::path(testing::TempDir()) / name;
  fs::remove_all(folder);
  return folder;
}

struct Progress {
  void save(torch::serialize::OutputArchive& archive) const {
    archive.write("step", torch::tensor(step));
  }
  void load(torch::serialize::InputArchive& archive) {
    torch::Tensor value;
    archive.read("step", value);
    step = value.item<std::int64_t>();
  }
  std::int64_t step = 0;
};

// A run in which each step depends on weights, moments, learning rate, progress and random numbers.
struct SavedRun {
  explicit SavedRun(const fs::path& folder = "",
                    std::optional<std::size_t> total_limit = std::nullopt)
      : accelerator({.cpu = true,
                     .project = {.project_dir = folder,
                                 .automatic_checkpoint_naming = !folder.empty(),
                                 .total_limit = total_limit}}),
        net(torch::nn::Linear(8, 4), torch::nn::BatchNorm1d(4), torch::nn::Linear(4, 1)),
        model(accelerator.prepare(net)),
        adam(accelerator.prepare(torch::optim::Adam(net->parameters(), 0.01))) {
    accelerator.register_for_checkpointing(progress);
  }

  void train(int steps) {
    for (int i = 0; i < steps; ++i) {
      adam->param_groups()[0].options().set_lr(0.01 / static_cast<double>(++progress.step));
      adam.zero_grad();
      accelerator.backward(model(torch::randn({16, 8})).square().mean());
      adam.step();
    }
  }

  torch::Tensor weights() const {
    std::vector<torch::Tensor> flat;
    for (const torch::Tensor& parameter : net->parameters()) flat.push_back(parameter.flatten());
    for (const torch::Tensor& buffer : net->buffers()) {
      flat.push_back(buffer.to(torch::kFloat).flatten());
    }
    return torch::cat(flat).detach().clone();
  }

  Accelerator accelerator;
  torch::nn::Sequential net;
  Model<torch::nn::Sequential> model;
  Optimizer<torch::optim::Adam> adam;
  Progress progress;
};

inline std::vector<std::string> entries_of(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

}  // namespace accel::runtime
