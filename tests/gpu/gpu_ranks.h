// Runs several ranks on one GPU. NCCL allows this if the processes claim to be on different hosts
// (NCCL_HOSTID). They then communicate through sockets.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "accel/accelerator.h"
#include "accel/data_loader.h"
#include "runtime/comm/nccl_backend.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/training.h"

namespace accel {

// The environment of ranks that share GPU 0, for runtime::on_ranks(). Each of them calls
// share_one_gpu() before it makes an Accelerator.
inline runtime::Variables one_gpu() {
  return {{"CUDA_VISIBLE_DEVICES", "0"}, {"NCCL_SOCKET_IFNAME", "lo"},
          {"NCCL_IB_DISABLE", "1"},      {"NCCL_MAX_CTAS", "1"},
          {"NCCL_NET", "Socket"},        {"ACCELERATE_USE_CPU", "false"}};
}
inline void share_one_gpu() {
  setenv("NCCL_HOSTID", std::getenv("RANK"), 1);
  setenv("LOCAL_RANK", "0", 1);
}

// Runs `body(accelerator)` on `world_size` ranks of one GPU. Skips the test if there is no GPU.
// Ranks that still run after a minute are killed and count as failed.
template <typename Body>
void on_gpu_ranks(int world_size, const AcceleratorOptions& options, Body&& body) {
  if (runtime::load_cuda() == 0) GTEST_SKIP() << "no GPU on this machine";
  runtime::on_ranks(
      world_size,
      [&] {
        share_one_gpu();
        Accelerator accelerator(options);
        ASSERT_TRUE(accelerator.device().is_cuda());
        body(accelerator);
      },
      one_gpu());
}

inline torch::nn::Sequential small_network() {
  torch::manual_seed(5);
  return torch::nn::Sequential(torch::nn::Linear(8, 16), torch::nn::Tanh(),
                               torch::nn::Linear(16, 1));
}

// A data set of 64 rows and their targets.
inline torch::Tensor inputs() { return torch::linspace(-1, 1, 64 * 8).view({64, 8}); }
inline torch::Tensor targets() { return inputs().sum(1, true).sin(); }

struct RowPairs : torch::data::datasets::Dataset<RowPairs> {
  torch::data::Example<> get(std::size_t index) override {
    const auto row = static_cast<std::int64_t>(index);
    return {inputs()[row], targets()[row]};
  }
  std::optional<std::size_t> size() const override { return 64; }
};

inline auto rows(std::size_t batch_size) {
  return make_data_loader<torch::data::samplers::SequentialSampler>(
      RowPairs().map(torch::data::transforms::Stack<>()), batch_size);
}

inline torch::Tensor all_parameters(const torch::nn::Sequential& net) {
  return torch::nn::utils::parameters_to_vector(net->parameters()).detach().clone();
}

inline double distance(const torch::Tensor& a, const torch::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

}  // namespace accel
