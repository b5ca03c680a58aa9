#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "runtime/data/batch.h"

namespace c10 {
struct Event;
struct Stream;
}  // namespace c10

namespace accel {

// When what was sent has arrived; null: it has.
using Arrival = std::shared_ptr<c10::Event>;

// How batches come to the device; without one, they stay where they are. On a GPU, `non_blocking`
// copies run on a stream of their own beside the computation, and `pin_memory` lets them: from
// memory that is not pinned the host copies first. On the CPU neither means anything.
class DeviceTransfer {
 public:
  explicit DeviceTransfer(std::optional<c10::Device> device = std::nullopt, bool pin_memory = false,
                          bool non_blocking = false);

  // Moves the tensors into pinned memory, if that was asked for. Thread-safe.
  template <typename Batch>
  void pin(Batch& batch) const {
    if (pins_) replace_tensors(batch, pinned);
  }

  // Begins to copy the batch to the device. Nothing may use it before receive().
  template <typename Batch>
  Arrival send(Batch& batch) const {
    return run([&] { replace_tensors(batch, [&](const at::Tensor& t) { return copied(t); }); });
  }

  // Lets the current stream go on with the batch once it has arrived; the host does not wait.
  template <typename Batch>
  void receive(Batch& batch, const Arrival& arrival) const {
    if (arrival == nullptr) return;
    wait(*arrival);
    replace_tensors(batch, [&](const at::Tensor& t) { return used(t); });
  }

  // Runs `work` in the stream for copies, if there is one: what it makes on the device is to be
  // sent and received as a batch. `after_current`: it uses what the current stream is still making.
  void beside(const std::function<void()>& work, bool after_current) const;

  // Copies the batch to the device in the current stream, for what that does next.
  template <typename Batch>
  void bring(Batch& batch) const {
    replace_tensors(batch, [&](const at::Tensor& t) {
      const at::Tensor here = copied(t);
      return here.is_same(t) && !t.is_cpu() ? used(t) : here;
    });
  }

 private:
  static at::Tensor pinned(const at::Tensor& tensor);
  at::Tensor copied(const at::Tensor& tensor) const;
  // Keeps the memory from being given out again before the current stream is done with it.
  static at::Tensor used(const at::Tensor& tensor);
  // Runs `copy` in the stream for copies, if there is one.
  Arrival run(const std::function<void()>& copy) const;
  void wait(const c10::Event& arrival) const;

  const std::optional<c10::Device> device_;
  const bool pins_;
  std::shared_ptr<const c10::Stream> stream_;  // Of device_; null: the current one.
};

}  // namespace accel
