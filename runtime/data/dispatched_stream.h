#pragma once

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
  // `global`: what is dispatched, on rank 0; null elsewhere.
  DispatchedStream(std::unique_ptr<BatchStream<Batch>> global, const LoaderBinding& binding,
                   const ShardOptions& options)
      : global_(std::move(global)),
        transfer_(binding.transfer),
        link_(binding.communicator, options) {}

  std::optional<Step<Batch>> next() override {
    auto slice = global_ != nullptr ? hand_out() : link_.receive();
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
    transfer_->bring(step->batch);
    return link_.send(Tensors<Batch>::of(std::move(step->batch)), step->position);
  }

  std::optional<Step<Batch>> read() {
    try {
      return global_->next();
    } catch (...) {
      link_.send_failure();
      throw;
    }
  }

  const std::unique_ptr<BatchStream<Batch>> global_;
  const std::shared_ptr<const DeviceTransfer> transfer_;
  DispatchLink link_;
};

}  // namespace accel
