#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/data/batch.h"
#include "runtime/data/batch_stream.h"
#include "runtime/data/data_source.h"
#include "runtime/data/dispatch_link.h"
#include "runtime/data/loader_context.h"

namespace accel {

// This process's slices of the global batches that rank 0 reads. Each step is a collective. Not
// thread-safe.
template <typename Batch>
class DispatchedStream : public BatchStream<Batch> {
 public:
  // Opens the stream of what is dispatched.
  using Open = std::function<std::unique_ptr<BatchStream<Batch>>()>;

  // `open`: on rank 0, for the first step; empty elsewhere.
  DispatchedStream(Open open, const LoaderContext& context, const ShardOptions& options)
      : open_(std::move(open)), transfer_(context.transfer), link_(context.communicator, options) {}

  // Throws on rank 0 what opening or reading threw, and then CommunicationError on the others.
  std::optional<LoadedBatch<Batch>> next() override {
    if (link_.ended()) return std::nullopt;
    std::optional<LoadedBatch<Batch>> global;
    if (open_) global = read();
    std::optional<DispatchLink::Slice> slice;
    const auto exchange = [&] { slice = open_ ? hand_out(std::move(global)) : link_.receive(); };
    transfer_->beside(exchange, /*after_current=*/global && is_on_device(global->batch));
    if (!slice) return std::nullopt;
    return LoadedBatch<Batch>{BatchTensors<Batch>::batch(std::move(slice->tensors)),
                              slice->position};
  }

 private:
  // The next global batch. The others wait for it, and are told if there is none.
  std::optional<LoadedBatch<Batch>> read() {
    return notify_on_failure([this] {
      if (global_ == nullptr) global_ = open_();
      return global_->next();
    });
  }

  std::optional<DispatchLink::Slice> hand_out(std::optional<LoadedBatch<Batch>> step) {
    if (!step) {
      link_.send_end();
      return std::nullopt;
    }
    notify_on_failure([&] { transfer_->bring(step->batch); });
    return link_.send(BatchTensors<Batch>::of(std::move(step->batch)), step->position);
  }

  template <typename Work>
  auto notify_on_failure(Work&& work) {
    try {
      return work();
    } catch (...) {
      link_.send_failure();
      throw;
    }
  }

  static bool is_on_device(Batch& batch) {
    bool found = false;
    replace_tensors(batch, [&](const at::Tensor& tensor) {
      found = found || !tensor.is_cpu();
      return tensor;
    });
    return found;
  }

  const Open open_;
  std::unique_ptr<BatchStream<Batch>> global_;
  const std::shared_ptr<const DeviceTransfer> transfer_;
  DispatchLink link_;
};

}  // namespace accel
