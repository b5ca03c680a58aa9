// What a checkpointed call keeps of its arguments until the backward pass.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/recompute/libtorch.h"

namespace accel::runtime {

// While one lives, arguments on a GPU are kept in the host's memory, in all of this process.
// Thread-safe.
class InputsOnHost {
 public:
  InputsOnHost();
  ~InputsOnHost();
  InputsOnHost(const InputsOnHost&) = delete;
  InputsOnHost& operator=(const InputsOnHost&) = delete;
};

// One argument. A copy in the host's memory is pinned, so the host does not wait for it. It is made
// in the current stream, so the argument's memory is free for what that stream computes next.
// Leaves of the graph, such as parameters, masks and batches, are not copied, because they live
// anyway, nor are expanded tensors, whose memory is small.
class SavedInput {
 public:
  explicit SavedInput(const at::Tensor& input);

  // Returns the tensor as it was, on its device and with its strides. A copy has no graph. Throws
  // c10::Error if the tensor is not a copy and has been changed in place.
  at::Tensor unpack() const;
  // Drops the tensor.
  void reset();

 private:
  struct HostCopy {
    at::Tensor values;
    c10::Event copied;
    c10::Device device;
    std::vector<std::int64_t> strides;
    bool requires_grad;
  };
  static HostCopy to_host(const at::Tensor& input);

  torch::autograd::SavedVariable kept_;
  std::optional<HostCopy> copy_;
};

}  // namespace accel::runtime
