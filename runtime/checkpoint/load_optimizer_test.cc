#include "runtime/checkpoint/load_optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/lbfgs.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "accel/errors.h"
#include "accel/optim.h"
#include "runtime/checkpoint/optimizer_moments.h"
#include "runtime/memory/large_blocks.h"
#include "runtime/testing/error_of.h"

namespace accel::runtime {
namespace {

namespace optim = torch::optim;
using ::testing::HasSubstr;

std::vector<torch::Tensor> parameters(int count = 1) {
  std::vector<torch::Tensor> all;
  for (int i = 0; i < count; ++i) {
    all.push_back(torch::ones({3}).requires_grad_());
    all.back().mutable_grad() = torch::ones({3});
  }
  return all;
}

std::filesystem::path file() { return std::filesystem::path(testing::TempDir()) / "optimizer.bin"; }

void save(const optim::Optimizer& optimizer) {
  torch::serialize::OutputArchive archive;
  optimizer.save(archive);
  archive.save_to(file().string());
}

void load(optim::Optimizer& optimizer, const HeldElements& held = {}) {
  load_optimizer(file(), c10::kCPU, optimizer, held);
}

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
  const void* const parameter = one.param_groups()[0].params()[0].unsafeGetTensorImpl();
  for (const HeldElements& held : {HeldElements{}, HeldElements{{parameter, {0, 2}}}}) {
    EXPECT_THROW(load(one, held), CheckpointError);
    ASSERT_EQ(one.state().size(), 1u);
    EXPECT_EQ(moments().step(), 1);
    EXPECT_TRUE(torch::equal(moments().exp_avg(), first));
    EXPECT_TRUE(torch::equal(moments().exp_avg_sq(), second));
    EXPECT_EQ(one.param_groups().at(0).options().get_lr(), optim::AdamOptions().lr());
  }
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

// Makes parameters with gradients: large and small ones, and one whose elements are in another
// order in memory, as its moments are.
std::vector<torch::Tensor> sized_parameters() {
  torch::manual_seed(5);
  std::vector<torch::Tensor> all = {
      torch::randn({300, 100}), torch::randn({7}),
      torch::randn({32, 16, 8, 8}).to(torch::MemoryFormat::ChannelsLast), torch::randn({200, 90})};
  for (torch::Tensor& one : all) {
    one.requires_grad_();
    one.mutable_grad() = torch::randn_like(one);
  }
  return all;
}

// Returns all moments by parameter and moment, undefined ones included.
std::vector<std::vector<torch::Tensor>> moments_in(optim::Optimizer& optimizer) {
  std::vector<std::vector<torch::Tensor>> all;
  for (const torch::Tensor& parameter : optimizer.param_groups()[0].params()) {
    all.emplace_back();
    for (const torch::Tensor* moment :
         known_moments_of(*optimizer.state().at(parameter.unsafeGetTensorImpl()))) {
      all.back().push_back(*moment);
    }
  }
  return all;
}

// Saves an optimizer, and loads it where parts of all parameters are held, except for the last.
template <typename Optim, typename Options>
void expect_held_elements(const Options& options) {
  Optim saved(sized_parameters(), options), loaded(sized_parameters(), options);
  for (int step = 0; step < 2; ++step) saved.step();
  save(saved);
  const std::vector<ElementRange> ranges = {{12'345, 23'456}, {3, 3}, {1'000, 30'000}, {0, 18'000}};
  HeldElements held;
  for (std::size_t i = 0; i + 1 < ranges.size(); ++i) {
    held[loaded.param_groups()[0].params()[i].unsafeGetTensorImpl()] = ranges[i];
  }
  load(loaded, held);
  const auto whole = moments_in(saved), parts = moments_in(loaded);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (std::size_t k = 0; k < whole[i].size(); ++k) {
      ASSERT_EQ(parts[i][k].defined(), whole[i][k].defined());
      if (!whole[i][k].defined()) continue;
      const torch::Tensor expected =
          i == 3 ? whole[i][k] : whole[i][k].reshape({-1}).slice(0, ranges[i].begin, ranges[i].end);
      EXPECT_TRUE(torch::equal(parts[i][k], expected)) << i << ", " << k;
    }
  }
  EXPECT_EQ(loaded.param_groups()[0].options().get_lr(),
            saved.param_groups()[0].options().get_lr());
}

TEST(LoadOptimizer, OfHeldElementsTheMomentsAreLoaded) {
  expect_held_elements<optim::AdamW>(optim::AdamWOptions(0.1).amsgrad(true));
  expect_held_elements<optim::Adam>(optim::AdamOptions(0.1));
  expect_held_elements<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9));
  expect_held_elements<optim::RMSprop>(optim::RMSpropOptions(0.1).centered(true));
  expect_held_elements<optim::Adagrad>(optim::AdagradOptions(0.1));
  expect_held_elements<accel::optim::AdamW>(optim::AdamWOptions(0.1));
}

// Its class may read further tensors, so all of it is read.
class DerivedAdam : public optim::Adam {
  using Adam::Adam;
};

TEST(LoadOptimizer, OfHeldElementsADerivedClassLoadsTheMomentsToo) {
  expect_held_elements<DerivedAdam>(optim::AdamOptions(0.1));
}

TEST(LoadOptimizer, MomentsThatAreSmallerThanTheProgramsParameterAreRefused) {
  optim::SGD saved(sized_parameters(), optim::SGDOptions(0.1).momentum(0.9));
  saved.step();
  save(saved);
  optim::SGD loaded(sized_parameters(), optim::SGDOptions(0.1).momentum(0.9));
  const void* const parameter = loaded.param_groups()[0].params()[0].unsafeGetTensorImpl();
  EXPECT_THAT(error_of<CheckpointError>([&] {
                load(loaded, {{parameter, {29'000, 31'000}}});
              }),
              HasSubstr("has 30000 elements, and at least 31000 in this program"));
  EXPECT_TRUE(loaded.state().empty());
}

TEST(LoadOptimizer, AFileThatIsNoArchiveIsRefusedByItsName) {
  const HeldElements held = {{nullptr, {0, 1}}};
  optim::SGD loaded(parameters(), optim::SGDOptions(0.1));
  std::ofstream(file()) << std::string(100'000, 'x');
  EXPECT_THAT(error_of<CheckpointError>([&] { load(loaded, held); }), HasSubstr(file().string()));
  std::filesystem::remove(file());
  EXPECT_THAT(error_of<CheckpointError>([&] { load(loaded, held); }), HasSubstr("cannot open"));
}

// Returns a number of bytes of /proc/self/status.
std::int64_t status_bytes(const std::string& key) {
  std::ifstream lines("/proc/self/status");
  for (std::string name; lines >> name; lines.ignore(1'000, '\n')) {
    std::int64_t kibibytes = 0;
    if (name == key + ":" && lines >> kibibytes) return kibibytes << 10;
  }
  ADD_FAILURE() << "/proc/self/status has no " << key;
  return 0;
}

// Returns by how much the memory of the process grew at most.
template <typename Body>
std::int64_t growth_in(Body&& body) {
  std::ofstream("/proc/self/clear_refs") << "5";  // The peak is that of now.
  const std::int64_t before = status_bytes("VmHWM");
  body();
  return status_bytes("VmHWM") - before;
}

// Large pages of the system would also be there for the elements around those that are touched.
class WithoutLargePages {
 public:
  WithoutLargePages() { set(1); }
  ~WithoutLargePages() { set(0); }
  WithoutLargePages(const WithoutLargePages&) = delete;
  WithoutLargePages& operator=(const WithoutLargePages&) = delete;

 private:
  static void set(unsigned long disables) {
    EXPECT_EQ(::prctl(PR_SET_THP_DISABLE, disables, 0UL, 0UL, 0UL), 0);
  }
};

// 32 MiB of moments, of which a quarter is held.
TEST(LoadOptimizer, TheMomentsOfOtherElementsTakeNoMemory) {
  const WithoutLargePages small_pages;
  use_large_blocks();
  constexpr std::int64_t kSize = 1 << 20;
  std::vector<torch::Tensor> tensors;
  for (int i = 0; i < 4; ++i) tensors.push_back(torch::ones({kSize}).requires_grad_());
  for (torch::Tensor& one : tensors) one.mutable_grad() = torch::ones_like(one);
  HeldElements held;
  for (const torch::Tensor& one : tensors) {
    held[one.unsafeGetTensorImpl()] = {kSize / 4, kSize / 2};
  }
  optim::AdamW saved(tensors), loaded(tensors), whole(tensors);
  saved.step();
  save(saved);
  const std::int64_t mib = 1 << 20;
  EXPECT_LE(growth_in([&] { load(loaded, held); }), 8 * mib + 4 * mib);
  EXPECT_GE(growth_in([&] { load(whole); }), 24 * mib) << "the test does not measure";
}

}  // namespace
}  // namespace accel::runtime
