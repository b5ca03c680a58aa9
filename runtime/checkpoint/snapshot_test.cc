#include "runtime/checkpoint/snapshot.h"

#include <gtest/gtest.h>

#include <sstream>

#include "runtime/testing/training.h"

namespace accel {
namespace {

// With a tensor that LibTorch's own class has not.
class AveragingAdam : public torch::optim::Adam {
 public:
  using Adam::Adam;

  void save(torch::serialize::OutputArchive& archive) const override {
    Adam::save(archive);
    archive.write("average", average);
  }

  torch::Tensor average = torch::ones({100});
};

// Whose state() stays empty.
class Own : public torch::optim::Optimizer {
 public:
  explicit Own(std::vector<torch::Tensor> parameters)
      : Optimizer(std::move(parameters), std::make_unique<torch::optim::SGDOptions>(0.1)) {}

  torch::Tensor step(LossClosure) override { return {}; }
  void save(torch::serialize::OutputArchive& archive) const override {
    archive.write("average", average);
  }

  torch::Tensor average = torch::ones({100});
};

std::vector<torch::Tensor> parameters() {
  torch::Tensor parameter = torch::ones({3}).requires_grad_();
  parameter.mutable_grad() = torch::ones({3});
  return {parameter};
}

// What the archive has that is written after the optimizer's own tensor has changed.
template <typename Optim>
torch::Tensor saved_average(Optim& optimizer) {
  StagingMemory memory;
  Snapshot snapshot(memory);
  snapshot.add_optimizer("optimizer.bin", optimizer);
  snapshot.copy();
  optimizer.average.zero_();
  std::stringstream bytes;
  snapshot.files().at(0).write([&](std::string_view part) { bytes << part; });
  torch::serialize::InputArchive archive;
  archive.load_from(bytes);
  torch::Tensor average;
  archive.read("average", average);
  return average;
}

TEST(Snapshot, OptimizersOfOnesOwnClassesAreWrittenAtOnce) {
  Own own(parameters());
  EXPECT_TRUE(saved_average(own).eq(1).all().item<bool>());
  AveragingAdam fresh(parameters()), trained(parameters());
  EXPECT_TRUE(saved_average(fresh).eq(1).all().item<bool>());
  trained.step();
  EXPECT_TRUE(saved_average(trained).eq(1).all().item<bool>());
}

TEST(Snapshot, ExpectsMomentsOfLibTorchsOptimizersOnly) {
  torch::optim::Adam adam(parameters());
  AveragingAdam averaging(parameters());
  EXPECT_EQ(expected_bytes(adam), 128u);  // Two cache lines.
  EXPECT_EQ(expected_bytes(averaging), 0u);
}

}  // namespace
}  // namespace accel
