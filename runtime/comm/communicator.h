// The collectives between the processes of a world, over c10d backends: shared memory or Gloo on
// the CPU, NCCL on GPUs.
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

namespace accel::runtime {

// Every method is a collective unless its comment says otherwise: all ranks must call it, in the
// same order, with tensors of the same shape and dtype on the communicator's device.
//
// A method returns when its result is available. run_call() and the methods named enqueue_ are
// different on a GPU: they return once the work is queued on the current stream, so that the host
// does not wait for the GPU.
//
// Methods throw CommunicationError if a peer has gone, does not take part in time, or makes another
// call. If a queued call fails, the next method throws. On a GPU they throw std::invalid_argument
// for a tensor that is not on the communicator's device.
//
// Not thread-safe. On GPUs the destructor waits up to a minute for the other ranks' destructors,
// because NCCL tears a world down together. It does not wait while an exception unwinds the stack,
// and the others then do not wait for this rank.
class Communicator {
 public:
  // Joins the world that `environment` describes (world_size > 1). `timeout` is also the limit of
  // each later call. Throws CommunicationError if the store or a peer does not answer within it.
  static std::shared_ptr<Communicator> join(const Environment& environment,
                                            const at::Device& device,
                                            std::chrono::milliseconds timeout);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const;
  int size() const;

  // Reduce in place, with one all-reduce. The sum of bools is true if any of them is.
  void all_reduce_sum(at::Tensor tensor);
  void all_reduce_max(at::Tensor tensor);

  // Concatenates the ranks' tensors in rank order, with one all-gather: tensors of shape [d0, ...]
  // give [size * d0, ...], and 0-dim tensors give [size].
  at::Tensor all_gather(const at::Tensor& tensor);

  // Overwrite the tensors in place with those of rank `from`. Tensors of one dtype are sent
  // together, in one broadcast per 25 MiB.
  void broadcast(const std::vector<at::Tensor>& tensors, int from = 0);
  void enqueue_broadcast(const std::vector<at::Tensor>& tensors, int from = 0);

  // Returns slices[r] of rank 0 on rank r, with one scatter. All slices have this shape and dtype.
  // `slices` is empty on the other ranks.
  at::Tensor enqueue_scatter(const std::vector<std::int64_t>& shape, at::ScalarType dtype,
                             const std::vector<at::Tensor>& slices);

  // Returns every rank's number, in rank order.
  std::vector<std::int64_t> all_gather_number(std::int64_t number);
  // Return rank 0's number, or its numbers. All ranks must pass the same count of numbers.
  std::int64_t broadcast_number(std::int64_t number);
  std::vector<std::int64_t> broadcast_numbers(const std::vector<std::int64_t>& numbers);
  // Rank 0 may call this in place of broadcast_numbers(), to send without waiting for the GPU.
  void enqueue_numbers(const std::vector<std::int64_t>& numbers);

  // Exchange byte strings whose lengths may differ between ranks. all_gather_bytes() returns every
  // rank's, in rank order, with two all-gathers; broadcast_bytes() returns those of rank `from`,
  // with two broadcasts.
  std::vector<std::string> all_gather_bytes(const std::string& bytes);
  std::string broadcast_bytes(const std::string& bytes, int from);

  void barrier();

  // Runs `body`, in which LibTorch itself communicates over process_group(), as one call of this
  // name. Rethrows errors that communication did not cause unchanged.
  void run_call(const char* call, const std::function<void()>& body);

  // Leaves a note for the other ranks, because this rank is about to leave the world: their next
  // error says "rank R called TEXT instead". Not a collective.
  void note_failure(const std::string& text);

  // Throws CallsDiffer for a call that has ended, because the data of rank `sender` shows that it
  // is in another call. `call` is the collective that received the data, and `what` says what was
  // received, as in "sent no length". Not a collective.
  [[noreturn]] void refuse_data(const char* call, int sender, const std::string& what) const;

  // Returns the process group for LibTorch's own code, such as the Reducer, which takes no other
  // form of communicator. Not a collective.
  const c10::intrusive_ptr<c10d::ProcessGroup>& process_group() const;

 private:
  friend class OperationScope;
  struct Group;
  explicit Communicator(std::unique_ptr<Group> group);
  void all_reduce(at::Tensor tensor, const c10d::AllreduceOptions& options);
  void broadcast_now(const std::vector<at::Tensor>& tensors, int from);
  std::size_t received_size(const char* call, std::int64_t number, int sender) const;
  at::Tensor on_device(const at::Tensor& tensor) const;

  std::unique_ptr<Group> group_;
};

// Names what the user called, for errors: while the scope lives, an error of a collective begins
// with `operation`, and ends with `advice` if the ranks make different calls. Both must be string
// literals. `communicator` may be null; then the scope does nothing. Scopes nest, and the
// innermost one counts.
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

}  // namespace accel::runtime
