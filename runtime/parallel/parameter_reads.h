// Calls a listener before any operator reads the memory of certain tensors. The sharded strategy
// gathers the parameters of a unit there, in modules that are not changed for it.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <string>

namespace accel::runtime {

// The key of LibTorch's dispatcher by which operators are intercepted. LibTorch reserves it for
// other libraries, and it comes before autograd and autocast.
inline constexpr c10::DispatchKey kReadsKey = c10::DispatchKey::DeferredInit;

class ReadListener {
 public:
  virtual ~ReadListener() = default;

  // An operator, on any thread, is about to read tensors whose memory belongs to this listener.
  // After the call the memory must be there.
  virtual void before_read() = 0;
  // The same for an operator that reads tensors of several listeners. Called for each of them after
  // before_read() of all.
  virtual void before_joint_read() = 0;
  // The operator would write. Called instead of the other two. Must throw.
  [[noreturn]] virtual void refuse_write(const std::string& op) = 0;
};

// Sets the listener for the memory of `tensor`, or removes it if null. Thread-safe.
void listen_to_reads(const at::Tensor& tensor, ReadListener* listener);

// Returns a tensor of the same memory whose reads are reported. Views of it, tensors that autograd
// saves, and tensors that get its data by set_data() are reported as well.
at::Tensor with_reported_reads(const at::Tensor& tensor);

// While the scope lives, operators of this thread are not reported.
using UnreportedScope = c10::impl::ExcludeDispatchKeyGuard;

}  // namespace accel::runtime
