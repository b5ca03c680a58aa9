#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/data/batch.h"
#include "runtime/data/batch_stream.h"
#include "runtime/data/data_source.h"
#include "runtime/data/dispatch_link.h"
#include "runtime/data/loader_binding.h"

namespace accel {

// This process's slices of the global batches that rank 0 reads. Each step is a collective. Not
// thread-safe.
template <typename Batch>
class DispatchedStream : public BatchStream<Batch> {
 public:
  // Opens the stream of what is dispatched.
  using Open = std::function<std::unique_ptr<BatchStream<Batch>>()>;

  // `open`: on rank 0, for the first step; empty elsewhere.
  DispatchedStream(Open open, const LoaderBinding& binding, const ShardOptions& options)
      : open_(std::move(open)), transfer_(binding.transfer), link_(binding.communicator, options) {}

  // Throws on rank 0 what opening or reading threw, and then CommunicationError on the others.
  std::optional<Step<Batch>> next() override {
    auto slice = open_ ? hand_out() : link_.receive();
    if (!slice) return std::nullopt;
    return Step<Batch>{Tensors<Batch>::batch(std::move(slice->tensors)), slice->position};
  }

 private:
  std::optional<DispatchLink::Slice> hand_out() {
    std::optional<Step<Batch>> step = read();
    if (!step) {
      link_.send_end();
      return std::nullopt;
    }
    return link_.send(Tensors<Batch>::of(std::move(step->batch)), step->position);
  }

  // The next global batch, on the device. The others wait for it, and are told if there is none.
  std::optional<Step<Batch>> read() {
    try {
      if (global_ == nullptr) global_ = open_();
      std::optional<Step<Batch>> step = global_->next();
      if (step) transfer_->bring(step->batch);
      return step;
    } catch (...) {
      link_.send_failure();
      throw;
    }
  }

  const Open open_;
  std::unique_ptr<BatchStream<Batch>> global_;
  const std::shared_ptr<const DeviceTransfer> transfer_;
  DispatchLink link_;
};

}  // namespace accel
