#include "runtime/checkpoint/snapshot.h"

#include <gtest/gtest.h>

#include <atomic>
#include <sstream>
#include <string>
#include <thread>

#include "accel/optim.h"
#include "runtime/optim/optimizer_class.h"
#include "runtime/testing/fake_device.h"
#include "runtime/testing/training.h"

namespace accel::runtime {
namespace {

namespace optim = torch::optim;

// Has a tensor that LibTorch's Adam does not have.
class AveragingAdam : public optim::Adam {
 public:
  using Adam::Adam;

  void save(torch::serialize::OutputArchive& archive) const override {
    Adam::save(archive);
    archive.write("average", average);
  }

  torch::Tensor average = torch::ones({100});
};

// Has a tensor outside of state(), which is always empty.
class Own : public optim::Optimizer {
 public:
  explicit Own(std::vector<torch::Tensor> parameters)
      : Optimizer(std::move(parameters), std::make_unique<optim::SGDOptions>(0.1)) {}

  torch::Tensor step(LossClosure) override { return {}; }
  void save(torch::serialize::OutputArchive& archive) const override {
    archive.write("average", average);
  }

  torch::Tensor average = torch::ones({100});
};

std::vector<torch::Tensor> parameters(int count = 1) {
  std::vector<torch::Tensor> all;
  for (int i = 0; i < count; ++i) {
    all.push_back(torch::ones({3}).requires_grad_());
    all.back().mutable_grad() = torch::ones({3});
  }
  return all;
}

// Returns the tensor in an archive that is written after the tensor of the optimizer has changed.
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

TEST(Snapshot, OptimizersOfTheProgramsClassesAreSerializedAtOnce) {
  Own own(parameters());
  EXPECT_TRUE(saved_average(own).eq(1).all().item<bool>());
  AveragingAdam fresh(parameters()), trained(parameters());
  EXPECT_TRUE(saved_average(fresh).eq(1).all().item<bool>());
  trained.step();
  EXPECT_TRUE(saved_average(trained).eq(1).all().item<bool>());
}

TEST(Snapshot, ExpectsMomentsOfLibTorchsAndOfFusedOptimizersOnly) {
  const auto whole = [](const torch::Tensor& parameter) { return parameter.nbytes(); };
  optim::Adam adam(parameters());
  accel::optim::Adam fused(parameters());
  AveragingAdam averaging(parameters());
  EXPECT_EQ(expected_bytes(adam, whole), 128u);  // Two cache lines.
  EXPECT_EQ(expected_bytes(fused, whole), 128u);
  EXPECT_EQ(expected_bytes(averaging, whole), 0u);
}

// The device is stuck, as if it computed for long. The training thread continues, and the thread
// that writes waits.
TEST(Snapshot, CopiesFromADeviceAreWaitedForByTheWriterOnly) {
  use_fake_device();
  set_fake_device_stuck(true);
  StagingMemory memory;
  Snapshot snapshot(memory);
  snapshot.add_tensors("model.safetensors", {{"w", torch::ones({3}).to(kFakeDevice)},
                                             {"v", torch::ones({3}).to(kSecondFakeDevice)},
                                             {"host", torch::ones({3})}});
  snapshot.copy();
  std::atomic<bool> is_complete = false;
  std::thread writer([&] {
    snapshot.wait();
    is_complete = true;
  });
  while (fake_device_waiters() == 0 && !is_complete) std::this_thread::yield();
  EXPECT_FALSE(is_complete);
  set_fake_device_stuck(false);
  writer.join();
  std::string bytes;
  snapshot.files().at(0).write([&](std::string_view part) { bytes.append(part); });
  const float one = 1;
  const std::string pattern(reinterpret_cast<const char*>(&one), sizeof(one));
  EXPECT_EQ(bytes.substr(bytes.size() - 36), pattern + pattern + pattern + pattern + pattern +
                                                 pattern + pattern + pattern + pattern);
}

TEST(Snapshot, CopiesOfTheHostAreCompleteAtOnce) {
  StagingMemory memory;
  Snapshot snapshot(memory);
  torch::Tensor tensor = torch::ones({3});
  snapshot.add_tensors("model.safetensors", {{"w", tensor}});
  snapshot.copy();
  tensor.zero_();
  snapshot.wait();
  std::string bytes;
  snapshot.files().at(0).write([&](std::string_view part) { bytes.append(part); });
  EXPECT_NE(bytes.substr(bytes.size() - 12), std::string(12, '\0'));
}

// A checkpoint records the class, and is refused by an optimizer of another one.
TEST(Snapshot, AFusedOptimizerCountsAsLibTorchs) {
  const auto class_of = [](const optim::Optimizer& optimizer) -> const std::type_info& {
    return class_of_state(optimizer);
  };
  EXPECT_EQ(class_of(accel::optim::Adam(parameters())), typeid(optim::Adam));
  EXPECT_EQ(class_of(accel::optim::AdamW(parameters())), typeid(optim::AdamW));
  EXPECT_EQ(class_of(accel::optim::SGD(parameters(), 0.1)), typeid(optim::SGD));
  EXPECT_EQ(class_of(optim::SGD(parameters(), 0.1)), typeid(optim::SGD));
  EXPECT_EQ(class_of(AveragingAdam(parameters())), typeid(AveragingAdam));
}

}  // namespace
}  // namespace accel::runtime
