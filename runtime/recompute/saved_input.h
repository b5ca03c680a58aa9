// The arguments of a recomputed call, which are kept until the backward pass.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/recompute/libtorch.h"

namespace accel::runtime {

// While such an object lives, recomputed calls of this process keep arguments that a GPU has
// computed in the host's memory. Thread-safe.
class InputsOnHost {
 public:
  InputsOnHost();
  ~InputsOnHost();
  InputsOnHost(const InputsOnHost&) = delete;
  InputsOnHost& operator=(const InputsOnHost&) = delete;
};

// One argument. A copy in the host's memory is pinned, so the host does not wait for the copy. The
// copy is made in the current stream, so that stream may then reuse the argument's memory. Some
// tensors are not copied: leaves of the graph, such as parameters, masks and batches, because they
// are kept anyway, and expanded tensors, because their memory is small.
class SavedInput {
 public:
  explicit SavedInput(const at::Tensor& input);

  // Returns the argument with its values, on its device and with its strides. If it was copied, the
  // result has no graph. Throws c10::Error if it was not copied and has been changed in place.
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
