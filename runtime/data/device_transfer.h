#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "accel/nested.h"

namespace c10 {
struct Event;
struct Stream;
}  // namespace c10

namespace accel::runtime {

// Signals that a copy to the device is done. Null if the copy is known to be done.
using CopyEvent = std::shared_ptr<c10::Event>;

// Moves batches to the device of a process. Without a device, they are not moved.
//
// A GPU computes and copies at the same time, if the copy runs in another stream than the
// computation and reads pinned memory. From other memory the host first copies by itself. So with
// `non_blocking` copies run in a separate stream, and with `pin_memory` batches are moved into
// pinned memory first. On the CPU both options do nothing (docs/decisions/0019).
class DeviceTransfer {
 public:
  // `device` is where batches are moved, if it is set. `home` is the device of the process.
  explicit DeviceTransfer(std::optional<c10::Device> device = std::nullopt, bool pin_memory = false,
                          bool non_blocking = false,
                          std::optional<c10::Device> home = std::nullopt);

  // Makes the device of the process the calling thread's current one. A new thread starts
  // on GPU 0, so tensors that a dataset makes on "cuda" would otherwise be on GPU 0 in
  // every process. Thread-safe.
  void enter_thread() const;

  // Moves the tensors of the batch into pinned memory, with `pin_memory`. Thread-safe.
  template <typename Batch>
  void pin(Batch& batch) const {
    if (pins_) replace_defined(batch, pinned);
  }

  // Begins to copy the batch to the device. Nothing may use the copy before finish_copy().
  template <typename Batch>
  CopyEvent begin_copy(Batch& batch) const {
    return run([&] { replace_defined(batch, [&](const at::Tensor& t) { return copied(t); }); });
  }

  // Makes the current stream wait for the copy. The host does not wait.
  template <typename Batch>
  void finish_copy(Batch& batch, const CopyEvent& done) const {
    if (done == nullptr) return;
    wait(*done);
    replace_defined(batch, [](const at::Tensor& t) { return used(t); });
  }

  // Runs `work` in the stream for copies, if there is one. Tensors that `work` makes on the device
  // must go through begin_copy() and finish_copy() like a batch. If `after_current`, the stream
  // for copies first waits for the current stream, because `work` uses results that are still
  // being computed there.
  void run_in_copy_stream(const std::function<void()>& work, bool after_current) const;

  // Copies the batch to the device in the current stream, which may use the copy immediately.
  template <typename Batch>
  void copy_in_current_stream(Batch& batch) const {
    replace_defined(batch, [&](const at::Tensor& t) {
      const at::Tensor here = copied(t);
      return here.is_same(t) && !t.is_cpu() ? used(t) : here;
    });
  }

 private:
  template <typename Batch, typename F>
  static void replace_defined(Batch& batch, const F& f) {
    for_each_tensor(batch, [&f](at::Tensor& tensor) {
      if (tensor.defined()) tensor = f(tensor);
    });
  }
  static at::Tensor pinned(const at::Tensor& tensor);
  at::Tensor copied(const at::Tensor& tensor) const;
  // Tells the allocator that the current stream uses the tensor. The allocator then does not reuse
  // the memory before that stream is done with the tensor.
  static at::Tensor used(const at::Tensor& tensor);
  // Runs `copy` in the stream for copies, if there is one. Returns null if there is none.
  CopyEvent run(const std::function<void()>& copy) const;
  void wait(const c10::Event& done) const;

  const std::optional<c10::Device> device_, home_;
  const bool pins_;
  // A stream of device_ for the copies. If null, copies run in the current stream.
  std::shared_ptr<const c10::Stream> stream_;
};

}  // namespace accel::runtime
