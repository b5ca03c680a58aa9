// Training with several real processes equals training with one.
#include <gtest/gtest.h>
#include <torch/nn/modules/conv.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "accel/accelerator.h"
#include "accel/data_loader.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/training.h"

namespace accel::runtime {
namespace {

namespace F = torch::nn::functional;

// Random images and labels, the same in every process.
class Images : public torch::data::datasets::Dataset<Images> {
 public:
  explicit Images(std::int64_t size) {
    torch::manual_seed(1);
    images_ = torch::randn({size, 1, 8, 8});
    labels_ = torch::randint(0, 3, {size}, torch::kLong);
  }
  torch::data::Example<> get(std::size_t index) override {
    return {images_[static_cast<std::int64_t>(index)], labels_[static_cast<std::int64_t>(index)]};
  }
  std::optional<std::size_t> size() const override { return images_.size(0); }

 private:
  torch::Tensor images_, labels_;
};

torch::nn::Sequential make_net() {
  return torch::nn::Sequential(torch::nn::Conv2d(1, 8, 3), torch::nn::ReLU(), torch::nn::Flatten(),
                               torch::nn::Linear(8 * 6 * 6, 32), torch::nn::ReLU(),
                               torch::nn::Linear(32, 3));
}

std::string file_of(int world_size, int rank) {
  return testing::TempDir() + "/parameters_" + std::to_string(world_size) + "_" +
         std::to_string(rank);
}

// Makes 20 steps over a shuffled loader, more than one epoch, with a global batch of 12.
void train_twenty_steps() {
  Accelerator accelerator;
  const int world_size = accelerator.num_processes();
  torch::manual_seed(7 + accelerator.process_index());
  auto net = make_net();
  auto sgd = torch::optim::SGD(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  auto [model, optimizer, loader] =
      accelerator.prepare(net, std::move(sgd),
                          make_data_loader<torch::data::samplers::RandomSampler>(
                              Images(96).map(torch::data::transforms::Stack<>()),
                              static_cast<std::size_t>(12 / world_size)));
  EXPECT_EQ(loader.size(), 8u);
  for (int step = 0; step < 20;) {
    for (auto& batch : loader) {
      optimizer.zero_grad();
      accelerator.backward(F::cross_entropy(model->forward(batch.data), batch.target));
      optimizer.step();
      if (++step == 20) break;
    }
  }
  torch::save(accelerator.unwrap_model(model)->parameters(),
              file_of(world_size, accelerator.process_index()));
}

std::vector<torch::Tensor> load(const std::string& file) {
  std::vector<torch::Tensor> tensors;
  torch::load(tensors, file);
  return tensors;
}

TEST(EqualTrainingTest, NProcessesOfBatchBEqualOneOfBatchNB) {
  on_ranks(1, train_twenty_steps);
  for (int world_size : {2, 3}) {
    if (!on_ranks(world_size, train_twenty_steps)) continue;
    const auto one = load(file_of(1, 0));
    torch::manual_seed(7);
    const auto start = make_net()->parameters();
    double most = 0;
    for (int rank = 0; rank < world_size; ++rank) {
      const auto many = load(file_of(world_size, rank));
      ASSERT_EQ(many.size(), one.size());
      for (std::size_t i = 0; i < one.size(); ++i) {
        most = std::max(most, (many[i] - one[i]).abs().max().item<double>());
        EXPECT_GT((one[i] - start[i]).abs().max().item<double>(), 1e-3) << "nothing was learned";
      }
    }
    RecordProperty("max_difference_" + std::to_string(world_size), std::to_string(most));
    std::printf("%d processes: largest difference of a parameter %.3g\n", world_size, most);
    EXPECT_LE(most, 1e-6);
  }
}

// As in PyTorch's test of its hooks, results are within 1e-2 of fp32.
TEST(EqualTrainingTest, HooksCompressGradientsOnTheWay) {
  on_ranks(2, [] {
    const auto gradients = [](const DataParallelOptions& options) {
      Accelerator accelerator({.data_parallel = options});
      torch::manual_seed(1);
      auto model = accelerator.prepare(make_net());
      torch::manual_seed(accelerator.process_index());
      // The second pass uses buckets in the order of the first one.
      for (int pass = 0; pass < 2; ++pass) {
        model->zero_grad();
        accelerator.backward(model(torch::randn({4, 1, 8, 8})).square().mean());
      }
      std::vector<torch::Tensor> all;
      for (const torch::Tensor& parameter : model->parameters()) all.push_back(parameter.grad());
      return all;
    };
    const auto plain = gradients({}), views = gradients({.gradient_as_bucket_view = false}),
               halved = gradients({.comm_hook = CommHook::kFp16}),
               brain = gradients({.bucket_cap_mb = 1, .comm_hook = CommHook::kBf16});
    for (std::size_t i = 0; i < plain.size(); ++i) {
      EXPECT_GT(plain[i].abs().max().item<double>(), 1e-3);
      EXPECT_TRUE(torch::equal(plain[i], views[i]));
      EXPECT_TRUE(torch::allclose(plain[i], halved[i], 1e-2, 1e-2));
      EXPECT_TRUE(torch::allclose(plain[i], brain[i], 1e-2, 1e-2));
      EXPECT_FALSE(torch::equal(plain[i], halved[i]) && torch::equal(plain[i], brain[i]));
      EXPECT_TRUE(torch::equal(halved[i], halved[i].to(torch::kHalf).to(torch::kFloat)));
      EXPECT_TRUE(torch::equal(brain[i], brain[i].to(torch::kBFloat16).to(torch::kFloat)));
    }
  });
}

}  // namespace
}  // namespace accel::runtime
