// A LibTorch archive of tensors that come one by one, while it is written.
//
// LibTorch writes an archive from tensors that it refers to, and computes the checksum of each one
// before it writes the first of its bytes. So all of these tensors are given the same memory, as
// large as the largest of them. When the last byte of one tensor has been written, the next one is
// copied there. The file has the bytes that it has if all tensors are in memory.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "runtime/checkpoint/byte_relay.h"
#include "runtime/checkpoint/checkpoint_file.h"
#include "runtime/checkpoint/tensor_file.h"

namespace accel::runtime {

// Tensors that share memory. The relay gives their values in the order in which they were added;
// tensors without elements are left out.
class RelayedTensors {
 public:
  // Makes tensors of these shapes and dtypes on the CPU, to be put into an archive in this order.
  explicit RelayedTensors(const std::vector<torch::Tensor>& like);

  const std::vector<torch::Tensor>& tensors() const { return tensors_; }
  ByteRelay& relay() { return relay_; }

  // Calls `write` with a sink. It must pass the bytes of an archive of the tensors, in their order,
  // each in the memory of the tensor; they go on to `sink`. Throws what the relay throws, and
  // std::logic_error if the order is another one.
  void write(const std::function<void(const ByteSink&)>& write, const ByteSink& sink);

  // Frees the memory of the tensors, which may only be destroyed after that.
  void free_memory() { memory_.reset(); }

 private:
  void fill(std::size_t i);

  torch::Tensor memory_;
  std::vector<torch::Tensor> tensors_;
  std::vector<std::size_t> sizes_;  // In bytes, of tensors that have elements.
  ByteRelay relay_;
};

}  // namespace accel::runtime
