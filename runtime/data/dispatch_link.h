#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/comm/communicator.h"
#include "runtime/core/batch_sampler_shard.h"
#include "runtime/core/step_samples.h"
#include "runtime/data/batch_stream.h"
#include "runtime/data/dispatch_message.h"

namespace accel::runtime {

// The connection by which rank 0 hands out the global batches that it reads for all
// ranks. Not thread-safe.
//
// Each step costs one broadcast of a few numbers and one scatter per tensor, so a process
// receives only its own samples. The types and shapes of the tensors are broadcast only when they
// change. On a GPU, only the receiving ranks block their host, until rank 0 has sent these
// numbers. The current stream may use a slice immediately. Errors name the call "the next batch
// of a dispatched loader".
class DispatchLink {
 public:
  // The tensors of a slice of a global batch, and the samples of the step.
  using Slice = LoadedBatch<std::vector<at::Tensor>>;

  DispatchLink(std::shared_ptr<Communicator> communicator, const ShardOptions& options);

  // Rank 0 calls one of these three for each receive() of the other ranks.
  // All throw CommunicationError.
  //
  // send() returns rank 0's own slice. `tensors` are on the device. Each has samples.padded_samples
  // rows, a multiple of the number of processes. Otherwise, or if the shapes take more than
  // kMaxLayoutNumbers, send() calls send_failure() and throws std::invalid_argument.
  Slice send(const std::vector<at::Tensor>& tensors, const StepSamples& samples);
  void send_end();
  void send_failure();

  // Called by the other ranks. Returns the rank's slice. Returns std::nullopt at the end, and if
  // the last step has no samples for this rank. Throws CommunicationError, also if rank 0 could
  // not read its batch. Throws CallsDiffer, before it allocates anything, if rank 0's numbers are
  // not a step.
  std::optional<Slice> receive();

  // Returns true if the last step had no samples for some process. No call may follow such a step,
  // because the processes without samples have ended.
  bool ended() const { return ended_; }

 private:
  // Names the calls of a step for error messages.
  OperationScope begin_step() const;
  // Receives a step, and its layout if that has changed. Throws BadDispatchMessage.
  DispatchedStep receive_step();
  std::int64_t rows_of_slice(const StepSamples& samples) const;
  Slice scatter(const std::vector<at::Tensor>& tensors, const StepSamples& samples);

  const std::shared_ptr<Communicator> communicator_;
  const ShardOptions options_;
  std::vector<TensorLayout> layout_;  // The layout of the last batch.
  bool ended_ = false;
};

}  // namespace accel::runtime
