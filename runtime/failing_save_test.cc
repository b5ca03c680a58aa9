// Processes that die during a save, and disks that fail during one. Here the Accelerator saves and
// loads; runtime/checkpoint has separate tests of the folder on disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "accel/accelerator.h"
#include "runtime/testing/disk_faults.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/training.h"

namespace accel::runtime {
namespace {

namespace fs = std::filesystem;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

fs::path root() { return fs::path(testing::TempDir()) / "failing_save"; }

// A run whose state consists of one number in each of its parts.
class Training {
 public:
  explicit Training(std::int64_t width = 4)
      : accelerator({.cpu = true,
                     .project = {.project_dir = root(),
                                 .automatic_checkpoint_naming = true,
                                 .total_limit = 1}}),
        net_(width, width),
        model_(accelerator.prepare(net_)),
        adam_(accelerator.prepare(torch::optim::Adam(net_->parameters(), 0.0))) {
    accelerator.register_save_state_pre_hook([this](const std::string& folder) {
      std::ofstream(fs::path(folder) / "number") << number_;
    });
    accelerator.register_load_state_pre_hook([this](const std::string& folder) {
      std::ifstream(fs::path(folder) / "number") >> number_;
    });
  }

  void set(int number) {
    number_ = number;
    const torch::NoGradGuard no_grad;
    net_->weight.fill_(number);
    for (const torch::Tensor& parameter : net_->parameters()) {
      parameter.mutable_grad() = torch::zeros_like(parameter);
    }
    while (steps() < number) adam_.step();
  }

  // Returns the number. Throws if the parts differ.
  int number() {
    if (net_->weight.min().item<float>() != static_cast<float>(number_) ||
        net_->weight.max().item<float>() != static_cast<float>(number_) || steps() != number_) {
      throw std::runtime_error("the parts of a checkpoint are of different saves");
    }
    return number_;
  }

  Accelerator accelerator;

 private:
  std::int64_t steps() {
    if (adam_->state().empty()) return 0;
    const auto& first = *adam_->state().begin()->second;
    return static_cast<const torch::optim::AdamParamState&>(first).step();
  }

  int number_ = 0;
  torch::nn::Linear net_;
  Model<torch::nn::Linear> model_;
  Optimizer<torch::optim::Adam> adam_;
};

// A child process saves 1, and dies in the nth disk operation of the save of 2. Another child then
// loads and saves again. `folder` is the argument of save_state(). Returns true if the first child
// finished its save, so that nth exceeds the number of operations.
bool survives(int nth, const std::string& folder, unsigned unknown_flags) {
  fs::remove_all(root());
  EXPECT_EQ(in_child([&] {
              Training first;
              first.set(1);
              first.accelerator.save_state(folder);
              first.accelerator.wait_for_save();
            }),
            0);
  const auto error = [&](const DiskOperation& operation) {
    return operation.flags & unknown_flags ? EINVAL : 0;
  };
  const int status = in_child([&] {
    Training second;
    second.accelerator.load_state(folder);
    second.set(2);
    set_disk_faults({.under = root(), .kill_at = nth, .error = error});
    second.accelerator.save_state(folder);
    second.accelerator.wait_for_save();
  });
  EXPECT_TRUE(status == 0 || WIFSIGNALED(status)) << nth;
  EXPECT_EQ(in_child([&] {
              Training third;
              third.accelerator.load_state(folder);
              const int number = third.number();
              if (number != 2 && (number != 1 || status == 0)) {
                throw std::runtime_error("it is neither the older nor the newer one");
              }
              third.set(3);
              third.accelerator.save_state(folder);
              third.accelerator.wait_for_save();
              Training fourth;
              fourth.accelerator.load_state(folder);
              if (fourth.number() != 3) throw std::runtime_error("the next save was in the way");
            }),
            0)
      << nth;
  return status == 0;
}

TEST(KilledSave, LeavesTheOlderCheckpointOrTheNewer) {
  int nth = 1;
  while (!survives(nth, "", 0)) ++nth;
  EXPECT_GT(nth, 25);
}

TEST(KilledSave, OfTheSameFolderToo) {
  int nth = 1;
  while (!survives(nth, root() / "latest", 0)) ++nth;
  EXPECT_GT(nth, 25);
}

TEST(KilledSave, WhereTwoNamesCannotBeExchanged) {
  int nth = 1;
  while (!survives(nth, root() / "latest", RENAME_EXCHANGE)) ++nth;
  EXPECT_GT(nth, 25);
}

// An error of rank 0's disk is thrown on all ranks. The next save is independent of it.
TEST(FailedSave, IsReportedToEveryRankWithFileAndReason) {
  if (std::getenv("RANK") == nullptr) {
    fs::remove_all(root());
    fs::create_directories(root());
  }
  on_ranks(2, [] {
    signal(SIGXFSZ, SIG_IGN);
    Training run(2000);
    run.set(1);
    rlimit whole{};
    getrlimit(RLIMIT_FSIZE, &whole);
    const rlimit small{.rlim_cur = 1 << 20, .rlim_max = whole.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    run.accelerator.save_state();
    const std::string error = error_of([&] { run.accelerator.wait_for_save(); });
    // Both large files fail at about the same time.
    EXPECT_THAT(error, ContainsRegex("checkpoint_0.partial/(model.safetensors|optimizer.bin): "
                                     "cannot .*: File too large"));
    if (!run.accelerator.is_main_process()) {
      EXPECT_THAT(error, HasSubstr("rank 0: "));
    }
    setrlimit(RLIMIT_FSIZE, &whole);
    run.accelerator.save_state();
    run.accelerator.wait_for_save();
    run.accelerator.load_state();
    EXPECT_EQ(run.number(), 1);

    // A folder that cannot be made is reported immediately.
    const std::string in_a_file = root() / "file" / "checkpoint";
    if (run.accelerator.is_main_process()) std::ofstream(root() / "file") << "x";
    EXPECT_THAT(error_of([&] { run.accelerator.save_state(in_a_file); }),
                HasSubstr("Not a directory"));
  });
}

}  // namespace
}  // namespace accel::runtime
