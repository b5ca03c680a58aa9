// Whole files of a sharded model are written without the whole model in any process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>

#include "accel/accelerator.h"
#include "runtime/testing/counting_allocator.h"
#include "runtime/testing/disk_faults.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/text_net.h"

namespace accel::runtime {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Sharding = std::optional<ShardingOptions>;

constexpr int kBlocks = 6;
constexpr std::int64_t kWidth = 64;
constexpr std::int64_t kLargest = 4 * 3 * kWidth * kWidth;  // The weight of a layer, in bytes.

const Sharding kFullState = ShardingOptions{.auto_wrap_policy = WrapPolicy::kTransformerBased,
                                            .transformer_layer_cls_to_wrap = {"Block"},
                                            .state_dict_type = StateDictType::kFull};

// A run whose ranks all train on the same words. The model has a buffer, and a norm that is not
// sharded if `ignored` is its name.
struct BigRun {
  explicit BigRun(Sharding sharding, int num_steps = 1, const std::string& ignored = "")
      : accelerator([&] {
          if (sharding) sharding->ignored_modules = ignored;
          return AcceleratorOptions{
              .cpu = true, .gradient_accumulation = {.num_steps = num_steps}, .sharding = sharding};
        }()) {
    torch::manual_seed(7);
    net = Text(kBlocks, kWidth);
    net->register_buffer("zeros", torch::zeros({5}, torch::kLong));
    model = accelerator.prepare(net);
    adam = accelerator.prepare(torch::optim::AdamW(net->parameters(), 0.01));
  }

  void train(int begin, int end) {
    for (int batch = begin; batch < end; ++batch) {
      auto window = accelerator.accumulate(model);
      accelerator.backward(model->loss(words_of(batch, 0)));
      adam.step();
      adam.zero_grad();
    }
  }

  Accelerator accelerator;
  Text net{nullptr};
  Model<Text> model;
  Optimizer<torch::optim::AdamW> adam;
};

// Returns by how many bytes the tensors of this process grow at most.
template <typename Body>
std::int64_t growth_in(Body&& body) {
  const std::int64_t before = counted().live();
  counted().take_peak();
  body();
  return counted().take_peak() - before;
}

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  EXPECT_TRUE(in.is_open()) << file;
  return {std::istreambuf_iterator<char>(in), {}};
}

// A tensor is there as a whole, and once more where the archive of the optimizer is made of it.
TEST(FullSaveMemoryTest, AProcessHoldsOneTensorMore) {
  const fs::path folder = fs::path(testing::TempDir()) / "full_save_memory";
  on_ranks(2, [&] {
    counted();
    BigRun run(kFullState, /*num_steps=*/2);
    run.train(0, 3);  // The window is open, so gradients are saved too.
    const auto save = [&] {
      run.accelerator.save_state(folder / "state");
      run.accelerator.wait_for_save();
    };
    EXPECT_LE(growth_in(save), 3 * kLargest);
    EXPECT_LE(growth_in(save), 3 * kLargest);
    const auto save_model = [&] { run.accelerator.save_model(run.model, folder / "model"); };
    EXPECT_LE(growth_in(save_model), 3 * kLargest);
  });
}

// Names, order and bytes are those of an unsharded run.
TEST(FullSaveMemoryTest, TheFilesOfModelsAreThoseOfAnUnshardedRun) {
  const fs::path folder = fs::path(testing::TempDir()) / "full_save_bytes";
  const auto save = [&](const std::string& name, const Sharding& sharding,
                        const std::string& ignored) {
    BigRun run(sharding, /*num_steps=*/2, ignored);
    run.train(0, 3);
    run.accelerator.save_state(folder / name / "state");
    run.train(3, 4);
    run.accelerator.load_state(folder / name / "state");
    run.accelerator.save_model(run.model, folder / name / "model", "500KB");
  };
  on_ranks(2, [&] { save("whole", {}, ""); });
  on_ranks(2, [&] { save("sharded", kFullState, ""); });
  if (!on_ranks(2, [&] { save("ignoring", kFullState, "head|blocks\\.1"); })) return;
  for (const char* file :
       {"state/model.safetensors", "state/gradients.safetensors",
        "model/model-00001-of-00002.safetensors", "model/model-00002-of-00002.safetensors",
        "model/model.safetensors.index.json"}) {
    const std::string expected = bytes_of(folder / "whole" / file);
    for (const char* name : {"sharded", "ignoring"}) {
      EXPECT_TRUE(bytes_of(folder / name / file) == expected) << name << "/" << file;
    }
  }
}

// The next save succeeds.
TEST(FullSaveMemoryTest, AFullDiskFailsTheSaveOfAllRanks) {
  const fs::path folder = fs::path(testing::TempDir()) / "full_save_disk";
  on_ranks(2, [&] {
    BigRun run(kFullState);
    run.train(0, 1);
    const bool is_main = run.accelerator.is_main_process();
    for (const char* file : {"model.safetensors", "optimizer.bin"}) {
      if (is_main) {
        set_disk_faults({.under = folder, .error = [=](const DiskOperation& operation) {
                           const bool writes =
                               operation.name == "pwrite" || operation.name == "write";
                           return writes && operation.path.ends_with(file) ? ENOSPC : 0;
                         }});
      }
      run.accelerator.save_state(folder / "state");
      EXPECT_THAT(error_of([&] { run.accelerator.wait_for_save(); }), HasSubstr("No space left"));
      set_disk_faults({});
    }
    run.accelerator.save_state(folder / "state");
    run.accelerator.wait_for_save();
    run.accelerator.load_state(folder / "state");
    if (is_main) {
      set_disk_faults({.under = folder, .error = [](const DiskOperation& operation) {
                         return operation.name == "pwrite" || operation.name == "write" ? ENOSPC
                                                                                        : 0;
                       }});
    }
    EXPECT_THAT(error_of([&] { run.accelerator.save_model(run.model, folder / "model"); }),
                HasSubstr("No space left"));
    set_disk_faults({});
    run.accelerator.save_model(run.model, folder / "model");
    run.accelerator.load_checkpoint_in_model(run.model, folder / "model");
  });
}

// The thread that would write the next file waits for its first tensor by then, and the training
// thread for the thread that has failed.
TEST(FullSaveMemoryTest, AFileThatCannotBeOpenedFailsTheSaveOfAllRanks) {
  const fs::path folder = fs::path(testing::TempDir()) / "full_save_open";
  on_ranks(2, [&] {
    BigRun run(kFullState, /*num_steps=*/2);
    run.train(0, 3);  // The window is open, so there is a file of gradients too.
    if (run.accelerator.is_main_process()) {
      set_disk_faults({.under = folder, .error = [](const DiskOperation& operation) {
                         if (!operation.name.starts_with("open") ||
                             !operation.path.ends_with("model.safetensors")) {
                           return 0;
                         }
                         std::this_thread::sleep_for(std::chrono::milliseconds(300));
                         return EMFILE;
                       }});
    }
    run.accelerator.save_state(folder / "state");
    EXPECT_THAT(error_of([&] { run.accelerator.wait_for_save(); }),
                HasSubstr("Too many open files"));
    set_disk_faults({});
    run.accelerator.save_state(folder / "state");
    run.accelerator.wait_for_save();
    run.accelerator.load_state(folder / "state");
  });
}

// Neither the gradients of the window nor the memory of an archive wait for the next save.
TEST(FullSaveMemoryTest, NothingOfASaveRemains) {
  const fs::path folder = fs::path(testing::TempDir()) / "full_save_remains";
  on_ranks(2, [&] {
    counted();
    BigRun run(kFullState, /*num_steps=*/2);
    run.train(0, 2);  // The window is closed, so there are no gradients.
    const std::int64_t before = counted().live();
    run.train(2, 3);
    run.accelerator.save_state(folder / "state");
    run.train(3, 4);
    const auto remains = [&] { return counted().live() - before > kLargest / 2; };
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (remains() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_LE(counted().live() - before, kLargest / 2);
    run.accelerator.wait_for_save();
  });
}

TEST(FullSaveMemoryTest, AWrongFolderIsRefusedBeforeAnythingIsGathered) {
  const fs::path folder = fs::path(testing::TempDir()) / "full_save_wrong_folder";
  on_ranks(2, [&] {
    counted();
    BigRun run(kFullState);
    run.train(0, 1);
    run.accelerator.save_state(folder / "state");
    run.accelerator.wait_for_save();
    const auto save = [&] {
      EXPECT_THAT(error_of([&] { run.accelerator.save_model(run.model, folder / "state"); }),
                  HasSubstr("it is a checkpoint of save_state()"));
    };
    EXPECT_LT(growth_in(save), kLargest / 2);
  });
}

// A rank that dies while its part is gathered ends the save of rank 0 with an error, and the
// checkpoint before remains.
TEST(FullSaveMemoryTest, ALostRankLeavesTheCheckpointBefore) {
  const fs::path folder = fs::path(testing::TempDir()) / "full_save_lost";
  const auto save_and_lose = [&] {
    counted();
    BigRun run(kFullState);
    run.train(0, 1);
    run.accelerator.save_state(folder / "state");
    run.accelerator.wait_for_save();
    run.train(1, 2);
    if (!run.accelerator.is_main_process()) {
      counted().at_allocation(20, [] { raise(SIGKILL); });
    }
    EXPECT_NE(error_of([&] { run.accelerator.save_state(folder / "state"); }),
              "nothing was thrown");
    EXPECT_NE(error_of([&] { run.accelerator.wait_for_save(); }), "nothing was thrown");
  };
  on_ranks(2, save_and_lose, {}, {{1, -SIGKILL}});
  on_ranks(2, [&] {
    BigRun run(kFullState);
    run.accelerator.load_state(folder / "state");
  });
}

}  // namespace
}  // namespace accel::runtime
