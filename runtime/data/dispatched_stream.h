#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "accel/nested.h"
#include "runtime/core/batch_sampler_shard.h"
#include "runtime/data/batch_stream.h"
#include "runtime/data/loader_context.h"

namespace accel::runtime {

class DispatchLink;

// The source of this process's slices of the global batches that rank 0 reads, as tensors. Each
// step is a collective. Not thread-safe.
class DispatchedTensors {
 public:
  using Tensors = LoadedBatch<std::vector<at::Tensor>>;
  // Returns the next global batch, or std::nullopt at the end.
  using Reader = std::function<std::optional<Tensors>()>;

  // `reader` is set on rank 0, and empty on the others.
  DispatchedTensors(Reader reader, const LoaderContext& context, const ShardOptions& options);
  ~DispatchedTensors();
  DispatchedTensors(const DispatchedTensors&) = delete;
  DispatchedTensors& operator=(const DispatchedTensors&) = delete;

  // Returns the slice, or std::nullopt at the end. If reading throws on rank 0, rank 0 rethrows the
  // exception, and the other ranks throw CommunicationError.
  std::optional<Tensors> next();

 private:
  // Performs rank 0's part of a step.
  std::optional<Tensors> scatter(std::optional<Tensors> global);
  // Runs `work` on rank 0. If `work` throws, notifies the other ranks, because they wait
  // for the batch.
  void notify_on_failure(const std::function<void()>& work);

  const Reader reader_;
  const std::shared_ptr<const DeviceTransfer> transfer_;
  const std::unique_ptr<DispatchLink> link_;
};

// A stream of the same slices as batches.
template <fixed_tensors Batch>
class DispatchedStream : public BatchStream<Batch> {
 public:
  // Opens the stream of global batches.
  using Open = std::function<std::unique_ptr<BatchStream<Batch>>()>;

  // `open` is called on rank 0 at the first step. It is empty on the other ranks.
  DispatchedStream(Open open, const LoaderContext& context, const ShardOptions& options)
      : tensors_(open ? reader(std::move(open)) : nullptr, context, options) {}

  std::optional<LoadedBatch<Batch>> next() override {
    auto slice = tensors_.next();
    if (!slice) return std::nullopt;
    return LoadedBatch<Batch>{with_tensors(Batch(), slice->batch), slice->samples};
  }

 private:
  static DispatchedTensors::Reader reader(Open open) {
    return [open = std::move(open), stream = std::shared_ptr<BatchStream<Batch>>()]() mutable
           -> std::optional<DispatchedTensors::Tensors> {
      if (stream == nullptr) stream = open();
      const auto global = stream->next();
      if (!global) return std::nullopt;
      return DispatchedTensors::Tensors{tensors_of(global->batch), global->samples};
    };
  }

  DispatchedTensors tensors_;
};

}  // namespace accel::runtime
