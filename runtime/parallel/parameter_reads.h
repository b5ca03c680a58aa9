// Calls a listener before an operator reads the memory of certain tensors. The sharded strategy
// then gathers the parameters of a unit, without a change to the modules.
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

  // Called when an operator, on any thread, is about to read tensors whose memory belongs to this
  // listener. After the call the memory must exist.
  virtual void before_read() = 0;
  // Called for an operator that reads tensors of several listeners. First before_read() is called
  // for all of these listeners, and then this for all of them.
  virtual void before_joint_read() = 0;
  // Called instead of the other two if the operator would write. Must throw.
  [[noreturn]] virtual void refuse_write(const std::string& op) = 0;
};

// Sets the listener for the memory of `tensor`, or removes it if null. Thread-safe.
void listen_to_reads(const at::Tensor& tensor, ReadListener* listener);

// Returns a tensor of the same memory whose reads are reported. Reads of its views, of tensors that
// autograd saves, and of tensors that get its data by set_data() are reported as well.
at::Tensor with_reported_reads(const at::Tensor& tensor);

// While the scope lives, operators of this thread are not reported.
using UnreportedScope = c10::impl::ExcludeDispatchKeyGuard;

}  // namespace accel::runtime
