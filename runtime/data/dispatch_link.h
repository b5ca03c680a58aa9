#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/comm/communicator.h"
#include "runtime/core/batch_sampler_shard.h"
#include "runtime/core/step_samples.h"

namespace accel {

// Through which rank 0 hands global batches out. Each step costs one broadcast of a few numbers and
// one scatter per tensor, so a process receives its own samples only; the tensors' types and shapes
// are sent when they change. On a GPU only those who receive wait on the host, for these numbers; a
// slice is there for what its current stream does next. Errors name the call as "the next batch of
// a dispatched loader". Not thread-safe.
class DispatchLink {
 public:
  // A slice of a global batch.
  struct Slice {
    std::vector<at::Tensor> tensors;
    StepSamples position;
  };

  DispatchLink(std::shared_ptr<Communicator> communicator, const ShardOptions& options);

  // On rank 0, one of these for each receive() of the others. send() takes tensors of
  // position.padded_samples rows each, a multiple of the number of processes, on the device, and
  // returns rank 0's own slice; throws std::invalid_argument, after send_failure(), if they are not
  // like that. All throw CommunicationError.
  Slice send(const std::vector<at::Tensor>& tensors, const StepSamples& position);
  void send_end();
  void send_failure();

  // On the other ranks: this process's slice, or std::nullopt at the end, and when there is nothing
  // for it in the last step. Throws CommunicationError also if rank 0 could not read its batch.
  std::optional<Slice> receive();

  // After a step that had nothing for some process: it was the last one, and none of these calls
  // may follow. The others would be late for it, as they are still to process that step.
  bool ended() const { return ended_; }

 private:
  // Names the calls of a step.
  OperationScope begin_step() const;
  void agree_on_layout(std::vector<std::int64_t> layout);
  Slice scatter(const std::vector<at::Tensor>& tensors, const StepSamples& position);

  const std::shared_ptr<Communicator> communicator_;
  const ShardOptions options_;
  std::vector<std::int64_t> layout_;  // Of each tensor: dtype, dimensions, sizes but the first.
  bool ended_ = false;
};

}  // namespace accel
