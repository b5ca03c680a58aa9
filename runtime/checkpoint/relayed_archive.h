// A LibTorch archive whose tensors arrive one by one while it is written.
//
// LibTorch writes an archive from tensors that it refers to, and computes the checksum of each
// tensor before it writes its first byte. So all relayed tensors share the same memory, which is as
// large as the largest of them. When the last byte of one tensor has been written, the next tensor
// is copied there. The file has the same bytes as if all tensors were in memory.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "runtime/checkpoint/byte_relay.h"
#include "runtime/checkpoint/checkpoint_file.h"
#include "runtime/checkpoint/tensor_file.h"

namespace accel::runtime {

// Tensors that share memory. The relay gives their values in the order in which they were added,
// without tensors that have no elements.
class RelayedTensors {
 public:
  // Makes tensors of these shapes and dtypes on the CPU, to be put into an archive in this order.
  explicit RelayedTensors(const std::vector<torch::Tensor>& like);

  const std::vector<torch::Tensor>& tensors() const { return tensors_; }
  ByteRelay& relay() { return relay_; }

  // Calls `write` with a sink. `write` must pass the bytes of an archive of the tensors to that
  // sink, in their order, each from the memory of the tensor. The bytes go on to `sink`. Throws
  // what the relay throws, and std::logic_error if the order differs.
  void write(const std::function<void(const ByteSink&)>& write, const ByteSink& sink);

  // Frees the memory that the tensors share. Afterwards the tensors may only be destroyed.
  void free_memory() { memory_.reset(); }

 private:
  void fill(std::size_t i);

  torch::Tensor memory_;
  std::vector<torch::Tensor> tensors_;
  std::vector<std::size_t> sizes_;  // In bytes, of tensors that have elements.
  ByteRelay relay_;
};

}  // namespace accel::runtime
