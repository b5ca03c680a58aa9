#include "runtime/checkpoint/weights.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>

#include "accel/errors.h"
#include "runtime/checkpoint/commit.h"
#include "runtime/checkpoint/verify.h"
#include "runtime/testing/disk_faults.h"
#include "runtime/testing/training.h"

namespace accel::runtime {
namespace {

namespace fs = std::filesystem;

fs::path folder() { return fs::path(testing::TempDir()) / "weights"; }

// Returns a model all of whose weights are `number`.
torch::nn::Linear model_of(float number) {
  torch::nn::Linear model(4, 4);
  const torch::NoGradGuard no_grad;
  for (torch::Tensor& parameter : model->parameters()) parameter.fill_(number);
  return model;
}

// Returns the number of the save in the folder, or nullopt if none can be loaded.
std::optional<float> number_there() {
  torch::nn::Linear model = model_of(-1);
  try {
    WeightsLoad(*model, folder(), /*strict=*/true).run();
  } catch (const CheckpointError&) {
    return std::nullopt;
  }
  const float number = model->bias[0].item<float>();
  for (const torch::Tensor& parameter : model->parameters()) {
    if (!parameter.eq(number).all().item<bool>()) {
      throw std::runtime_error("the shards are of different saves");
    }
  }
  return number;
}

const ByteSize kWhole = "1GB", kTwoShards = 1;

// Saves 1, then kills the save of 2 in each operation on the disk in turn. Returns all numbers that
// are found afterwards.
std::set<std::optional<float>> found_after_a_kill(ByteSize first, ByteSize second) {
  std::set<std::optional<float>> found;
  for (int nth = 1;; ++nth) {
    fs::remove_all(folder());
    save_weights(*model_of(1), folder(), first);
    const int status = in_child([&] {
      set_disk_faults({.under = folder(), .kill_at = nth});
      save_weights(*model_of(2), folder(), second);
    });
    EXPECT_TRUE(status == 0 || WIFSIGNALED(status)) << nth;
    found.insert(number_there());
    if (status == 0) {
      EXPECT_EQ(number_there(), 2);
      EXPECT_GT(nth, 5);
      return found;
    }
    // Files that the kill has left do not hinder the next save.
    save_weights(*model_of(3), folder(), second);
    EXPECT_EQ(number_there(), 3) << nth;
  }
}

TEST(SaveWeights, KilledAnywhereTheOlderOrTheNewerAreFound) {
  const std::set<std::optional<float>> old_or_new{1, 2};
  EXPECT_EQ(found_after_a_kill(kWhole, kWhole), old_or_new);
  EXPECT_EQ(found_after_a_kill(kWhole, kTwoShards), old_or_new);
  EXPECT_EQ(found_after_a_kill(kTwoShards, kWhole), old_or_new);
}

TEST(SaveWeights, ShardsOfTwoSavesAreNeverMixed) {
  const std::set<std::optional<float>> neither_mixed{std::nullopt, 1, 2};
  EXPECT_EQ(found_after_a_kill(kTwoShards, kTwoShards), neither_mixed);
}

TEST(SaveWeights, ACheckpointIsRefused) {
  fs::remove_all(folder());
  const CheckpointFile model{.name = "model.safetensors",
                             .write = [](const ByteSink& sink) { sink("a checkpoint's"); }};
  begin_checkpoint(folder());
  commit_checkpoint(folder(), {model}, {});
  try {
    save_weights(*model_of(1), folder(), kTwoShards);
    ADD_FAILURE() << "it was saved";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("weights: it is a checkpoint"), std::string::npos);
  }
  EXPECT_NO_THROW(verify_checkpoint(folder()));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder()), {}), 2);
  save_weights(*model_of(1), folder() / "weights", kWhole);

  // A manifest of another program does not make the folder a checkpoint.
  std::ofstream(folder() / "manifest.json") << "{}";
  save_weights(*model_of(1), folder(), kWhole);
  EXPECT_EQ(number_there(), 1);
}

}  // namespace
}  // namespace accel::runtime
