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
class Backend;
class ProcessGroup;
class Store;
}  // namespace c10d

namespace accel::runtime {

// One rank's connection to the other ranks of a world. Every method is a collective unless
// its comment says otherwise. All ranks must call it, in the same order, with tensors of the
// same shape and dtype. Tensors must be on the host or on the communicator's device,
// otherwise it throws std::invalid_argument.
//
// Tensors of the host, numbers and bytes travel from host to host. Such a call returns when its
// result is available, and never waits for a GPU (docs/decisions/0048). A call with tensors of a
// GPU returns once it is queued on the current stream, so the host does not wait either.
//
// Methods throw CommunicationError if a peer has gone, does not take part in time, or makes another
// call. If a queued call fails, its error is logged, and every later method throws it. All results
// that the GPU has computed since are then invalid.
//
// On GPUs the destructor waits for the other ranks' destructors, because NCCL ends a world on
// all ranks together. It waits for a minute, or the timeout of the world if that is shorter.
// While an exception unwinds the stack, it does not wait, and the other ranks do not wait for
// this rank. Not thread-safe.
class Communicator {
 public:
  // Makes the backend for the tensors of a GPU. All ranks make their backends at the same time.
  using MakeGpuBackend = std::function<c10::intrusive_ptr<c10d::Backend>(
      const c10::intrusive_ptr<c10d::Store>& store, const Environment& environment,
      std::chrono::milliseconds timeout)>;

  // Joins the world that `environment` describes (world_size > 1). `timeout` is also the limit of
  // each later call. Throws CommunicationError if the store or a peer does not answer within it.
  // GPUs communicate over NCCL, unless a test gives `make_gpu_backend`.
  static std::shared_ptr<Communicator> join(const Environment& environment,
                                            const at::Device& device,
                                            std::chrono::milliseconds timeout,
                                            const MakeGpuBackend& make_gpu_backend = nullptr);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const;
  int size() const;

  // Reduce in place, with one all-reduce. The sum of bools is true if any of the bools is true.
  void all_reduce_sum(at::Tensor tensor);
  void all_reduce_max(at::Tensor tensor);

  // Concatenates the ranks' tensors in rank order, with one all-gather: tensors of shape [d0, ...]
  // give [size * d0, ...], and 0-dim tensors give [size].
  at::Tensor all_gather(const at::Tensor& tensor);

  // all_gather_into() writes the ranks' `part` one behind the other into `whole`, with one
  // all-gather. reduce_scatter_sum() writes to `part` of rank r the sum over the ranks of part r of
  // `whole`, with one reduce-scatter. `whole` and `part` are flat and contiguous. Errors name the
  // call as `call`.
  void all_gather_into(const at::Tensor& whole, const at::Tensor& part, const char* call);
  // Begins such an all-gather, and returns a function that waits for its end. The function must be
  // called once. Other calls may be made in between. Calls end in the order in which they begin.
  std::function<void()> begin_all_gather_into(const at::Tensor& whole, const at::Tensor& part,
                                              const char* call);
  void reduce_scatter_sum(const at::Tensor& part, const at::Tensor& whole, const char* call);

  // Overwrites the tensors in place with those of rank `from`. Tensors of one dtype are sent
  // together, in one broadcast per 25 MiB.
  void broadcast(const std::vector<at::Tensor>& tensors, int from = 0);

  // Returns slices[r] of rank 0 on rank r, on the communicator's device, with one scatter. All
  // slices have this shape and dtype. `slices` is empty on the other ranks.
  at::Tensor scatter(const std::vector<std::int64_t>& shape, at::ScalarType dtype,
                     const std::vector<at::Tensor>& slices);

  // Returns every rank's number, in rank order.
  std::vector<std::int64_t> all_gather_number(std::int64_t number);
  // Return rank 0's number, or its numbers. All ranks must pass the same count of numbers.
  std::int64_t broadcast_number(std::int64_t number);
  std::vector<std::int64_t> broadcast_numbers(const std::vector<std::int64_t>& numbers);

  // Exchange byte strings whose lengths may differ between ranks. all_gather_bytes() returns the
  // strings of all ranks, in rank order, with two all-gathers. broadcast_bytes() returns the string
  // of rank `from`, with two broadcasts.
  std::vector<std::string> all_gather_bytes(const std::string& bytes);
  std::string broadcast_bytes(const std::string& bytes, int from);

  // Blocks until all ranks have called it. Does not wait for the work of their GPUs.
  void barrier();

  // Splits this world into groups. The ranks that pass the same `color` form one group and keep
  // their order. Returns the communicator of this rank's group, or null if the group has only this
  // rank. The calls of one communicator are independent of those of all others. Errors of the
  // returned communicator count ranks within the group, and list the ranks of this world that form
  // it. It must be destroyed before this communicator. Throws as join() does.
  std::shared_ptr<Communicator> split(std::int64_t color);

  // Throws the error of a queued call that has failed. Call it after the host has read a result of
  // a GPU, and before it uses that result. Not a collective. Thread-safe.
  void check() const;

  // Runs `body`, in which LibTorch itself communicates over process_group(), as one call of this
  // name. Rethrows errors that communication did not cause unchanged.
  void run_call(const char* call, const std::function<void()>& body);

  // Leaves a note for the other ranks, because this rank is about to leave the world. Their next
  // error then says "rank R called TEXT instead". Not a collective.
  void note_failure(const std::string& text);

  // Throws CallsDiffer for a call that has ended, because the data of rank `sender` shows that this
  // rank is in another call. `call` is the collective that received the data. `what` says what was
  // received, as in "sent no length". Not a collective.
  [[noreturn]] void refuse_data(const char* call, int sender, const std::string& what) const;

  // Returns the process group for LibTorch's own code, such as the Reducer, which takes no other
  // form of communicator. Not a collective.
  const c10::intrusive_ptr<c10d::ProcessGroup>& process_group() const;

 private:
  friend class OperationScope;
  struct Group;
  struct World;
  static std::shared_ptr<Communicator> join_world(const World& world);
  explicit Communicator(std::unique_ptr<Group> group);
  void all_reduce(at::Tensor tensor, c10d::AllreduceOptions options);
  std::size_t received_size(const char* call, std::int64_t number, int sender) const;

  std::unique_ptr<Group> group_;
};

// Names the user's call, for errors. While the scope lives, an error of a collective begins
// with `operation`, and ends with `advice` if the ranks make different calls. Both must be
// string literals. If `communicator` is null, the scope does nothing. Scopes nest, and the
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
