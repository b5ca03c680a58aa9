#include "runtime/checkpoint/snapshot.h"

#include <gtest/gtest.h>

#include <atomic>
#include <sstream>
#include <string>
#include <thread>

#include "accel/errors.h"
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

std::filesystem::path file() { return std::filesystem::path(testing::TempDir()) / "optimizer.bin"; }

void save(const optim::Optimizer& optimizer) {
  torch::serialize::OutputArchive archive;
  optimizer.save(archive);
  archive.save_to(file().string());
}

void load(optim::Optimizer& optimizer) { load_optimizer(file(), c10::kCPU, optimizer); }

// LibTorch's own load() would keep the moments of a step that the checkpoint does not have.
template <typename Optim, typename Options>
void expect_no_state_before_the_first_step(const Options& options) {
  Optim optimizer(parameters(), options);
  save(optimizer);
  optimizer.step([] { return torch::zeros({}); });
  EXPECT_EQ(optimizer.state().size(), 1u);
  load(optimizer);
  EXPECT_TRUE(optimizer.state().empty());
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

TEST(LoadOptimizer, ACheckpointBeforeTheFirstStepLeavesNoState) {
  expect_no_state_before_the_first_step<optim::Adam>(optim::AdamOptions(0.1));
  expect_no_state_before_the_first_step<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9));
  expect_no_state_before_the_first_step<optim::LBFGS>(optim::LBFGSOptions(0.1));
}

TEST(LoadOptimizer, AnArchiveThatDoesNotFitChangesNothing) {
  optim::Adam two(parameters(2), 0.5);
  for (int step = 0; step < 3; ++step) two.step();
  save(two);
  optim::Adam one(parameters());
  one.step();
  const auto moments = [&]() -> optim::AdamParamState& {
    return static_cast<optim::AdamParamState&>(*one.state().begin()->second);
  };
  const torch::Tensor first = moments().exp_avg().clone(), second = moments().exp_avg_sq().clone();
  EXPECT_THROW(load(one), CheckpointError);
  ASSERT_EQ(one.state().size(), 1u);
  EXPECT_EQ(moments().step(), 1);
  EXPECT_TRUE(torch::equal(moments().exp_avg(), first));
  EXPECT_TRUE(torch::equal(moments().exp_avg_sq(), second));
  EXPECT_EQ(one.param_groups().at(0).options().get_lr(), optim::AdamOptions().lr());
}

// Its load() reads into a tensor that its constructor has made.
class Accumulating : public optim::Optimizer {
 public:
  explicit Accumulating(std::vector<torch::Tensor> parameters)
      : Optimizer(std::move(parameters), std::make_unique<optim::SGDOptions>(0.1)) {
    auto made = std::make_unique<optim::SGDParamState>();
    made->momentum_buffer(torch::zeros({3}));
    state_[key()] = std::move(made);
  }

  torch::Tensor step(LossClosure) override {
    sum().add_(1);
    return {};
  }
  void save(torch::serialize::OutputArchive& archive) const override {
    archive.write("sum",
                  static_cast<const optim::SGDParamState&>(*state_.at(key())).momentum_buffer());
  }
  void load(torch::serialize::InputArchive& archive) override { archive.read("sum", sum()); }

  torch::Tensor& sum() {
    return static_cast<optim::SGDParamState&>(*state_.at(key())).momentum_buffer();
  }

 private:
  void* key() const { return param_groups_[0].params()[0].unsafeGetTensorImpl(); }
};

TEST(LoadOptimizer, OtherClassesKeepTheStateThatTheyLoadInto) {
  Accumulating saved(parameters()), loaded(parameters());
  saved.step(nullptr);
  save(saved);
  load(loaded);
  EXPECT_TRUE(loaded.sum().eq(1).all().item<bool>());
}

}  // namespace
}  // namespace accel::runtime
