#include "runtime/checkpoint/random_state.h"

#include <gtest/gtest.h>

#include "accel/errors.h"
#include "runtime/checkpoint/durable_file.h"

namespace accel::runtime {
namespace {

namespace fs = std::filesystem;

fs::path file_of(const NamedTensors& tensors) {
  const fs::path file = fs::path(testing::TempDir()) / "random_states_0.safetensors";
  write_durably(file, TensorFile(tensors).parts());
  return file;
}

TEST(RandomState, RestoredGeneratorsDrawTheSameNumbers) {
  torch::manual_seed(7);
  const auto tensors = random_state_tensors(random_state(c10::kCPU), c10::kCPU);
  const torch::Tensor next = torch::rand({5});
  restore_random_state(file_of(tensors), c10::kCPU);
  EXPECT_TRUE(torch::equal(torch::rand({5}), next));
}

// A file that was saved on a CPU has no state for a GPU.
TEST(RandomState, AGpuKeepsItsStateIfTheFileHasNone) {
  const auto tensors = random_state_tensors(random_state(c10::kCPU), c10::kCPU);
  EXPECT_EQ(tensors.size(), 1u);
  EXPECT_NO_THROW(restore_random_state(file_of(tensors), c10::Device(c10::kCUDA, 0)));
}

TEST(RandomState, ARowOfAGpuIsSplitIntoBothParts) {
  const torch::Tensor cpu = random_state(c10::kCPU);
  const torch::Tensor gpu = torch::arange(16, torch::kByte);
  const auto tensors = random_state_tensors(torch::cat({cpu, gpu}), c10::kCUDA);
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_TRUE(torch::equal(tensors[0].second, cpu));
  EXPECT_TRUE(torch::equal(tensors[1].second, gpu));
  // A CPU needs only the first part.
  EXPECT_NO_THROW(restore_random_state(file_of(tensors), c10::kCPU));
  EXPECT_THROW(restore_random_state(file_of({tensors[1]}), c10::kCPU), CheckpointError);
}

}  // namespace
}  // namespace accel::runtime
