// The collectives between the processes of a world, over c10d: Gloo on the CPU, NCCL on GPUs.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "accel/errors.h"
#include "runtime/core/environment.h"

namespace c10d {
struct AllreduceOptions;
class ProcessGroup;
}  // namespace c10d

namespace accel {

// Every method is a collective: all ranks call it, in the same order, with tensors of the same
// shape and dtype on the communicator's device. A method returns when the result is there; those
// named enqueue_ and run_call() return on a GPU when it is queued in the current stream, so that
// the host does not wait for what the GPU is doing. They throw CommunicationError, for a call that
// was queued the next one does, and std::invalid_argument on a GPU for tensors elsewhere. Not
// thread-safe.
//
// Destroyed in orderly fashion, ranks on GPUs wait for one another, up to a minute; one that goes
// because of an exception is not waited for.
class Communicator {
 public:
  // Joins the world that `environment` describes (world_size > 1). Throws CommunicationError if the
  // store or a peer does not answer within `timeout`.
  static std::shared_ptr<Communicator> join(const Environment& environment,
                                            const at::Device& device,
                                            std::chrono::milliseconds timeout);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const;
  int size() const;

  // In place. One all-reduce. The sum of bools is whether one is true.
  void all_reduce_sum(at::Tensor tensor);
  void all_reduce_max(at::Tensor tensor);

  // [d0, ...] on each rank gives [size * d0, ...] in rank order; 0-dim gives [size]. One
  // all-gather.
  at::Tensor all_gather(const at::Tensor& tensor);

  // In place, from rank `from`. One broadcast per 25 MiB of a dtype.
  void broadcast(const std::vector<at::Tensor>& tensors, int from = 0);
  void enqueue_broadcast(const std::vector<at::Tensor>& tensors, int from = 0);

  // Rank r gets rank 0's slices[r], which all have this shape and dtype. `slices` is empty on the
  // other ranks. One scatter.
  at::Tensor enqueue_scatter(const std::vector<std::int64_t>& shape, at::ScalarType dtype,
                             const std::vector<at::Tensor>& slices);

  // For small facts about the ranks: every rank's number in rank order; rank 0's number; rank 0's
  // numbers, as many as each rank gives.
  std::vector<std::int64_t> all_gather_number(std::int64_t number);
  std::int64_t broadcast_number(std::int64_t number);
  std::vector<std::int64_t> broadcast_numbers(const std::vector<std::int64_t>& numbers);
  // On rank 0, instead of it.
  void enqueue_numbers(const std::vector<std::int64_t>& numbers);

  // Bytes whose number may differ: every rank's in rank order (two all-gathers); rank `from`'s (two
  // broadcasts).
  std::vector<std::string> all_gather_bytes(const std::string& bytes);
  std::string broadcast_bytes(const std::string& bytes, int from);

  void barrier();

  // Runs `body`, in which LibTorch itself communicates over process_group(), as one call. Errors
  // that are not of the communication come out as they are.
  void run_call(const char* call, const std::function<void()>& body);

  // What the others' next error shall say about this rank, which is about to leave. Not a
  // collective.
  void note_failure(const std::string& text);

  // For what LibTorch itself builds on process groups.
  const c10::intrusive_ptr<c10d::ProcessGroup>& process_group() const;

 private:
  friend class OperationScope;
  struct Group;
  explicit Communicator(std::unique_ptr<Group> group);
  void all_reduce(at::Tensor tensor, const c10d::AllreduceOptions& options);
  void broadcast_now(const std::vector<at::Tensor>& tensors, int from);
  at::Tensor on_device(const at::Tensor& tensor) const;

  std::unique_ptr<Group> group_;
};

// While it lives, errors name `operation` beside the call that fails, and end with `advice` if the
// ranks do not fit together; both are literals. `communicator` may be null.
class OperationScope {
 public:
  OperationScope(Communicator* communicator, const char* operation, const char* advice = "");
  ~OperationScope();
  OperationScope(const OperationScope&) = delete;
  OperationScope& operator=(const OperationScope&) = delete;

 private:
  Communicator* const communicator_;
  const char* outer_operation_ = nullptr;
  const char* outer_advice_ = "";
};

}  // namespace accel
