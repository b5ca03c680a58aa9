// The parts of a Communicator, and how a call of it runs and fails. Private to the Communicator's
// own sources, which get their LibTorch headers from here.
#pragma once

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/record_function.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>

#include "runtime/comm/call_watch.h"
#include "runtime/comm/communicator.h"
#include "runtime/comm/queued_calls.h"

namespace accel::runtime {

// Members are destroyed in reverse order: threads and backends go before the store that they use.
struct Communicator::Group {
  using Body = std::function<void()>;

  ~Group() {
    if (queue != nullptr) leave();
  }

  // Runs one call of this rank: numbers it, watches it, and gives errors of communication a text
  // that names the call and the ranks that are missing. Errors not caused by communication are
  // rethrown unchanged, without waiting for other ranks. A call that is made inside another call
  // has no number of its own: it counts as a part of the outer call.
  void watched(const char* call, const Body& body);
  // Runs one call, and returns when its result is available.
  void run(const char* call, const Body& body);
  // Runs one call, and on a GPU returns when it is queued on the current stream.
  void enqueue(const char* call, const Body& body);

  // Throws CallsDiffer. Used after a call has completed, if the data received from a peer shows
  // that the peer made a different call. `call` is the collective that received the data.
  [[noreturn]] void fail_differing(const char* call, const std::string& reason);

  // Returns `options` for a call that the caller waits for immediately. On the CPU the call becomes
  // synchronous, so that it runs on this thread. On a GPU it becomes asynchronous nevertheless,
  // because NCCL returns no work object for a synchronous call.
  template <typename Options>
  Options waited_for(Options options) const {
    options.asyncOp = device.is_cuda();
    return options;
  }

  // Throws std::invalid_argument if this is a GPU's communicator and `tensor` is on another device.
  void check_device(const at::Tensor& tensor) const;

  // Starts the thread that aborts NCCL when a queued call exceeds the timeout.
  void watch_queue();

  const pid_t process = getpid();
  at::Device device{at::kCPU};
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::Backend> backend;
  c10::intrusive_ptr<c10d::ProcessGroup> process_group;

  std::unique_ptr<CallWatch> watch;
  std::unique_ptr<QueuedCalls> queue;  // The calls that the GPU has queued; null on the CPU.
  std::chrono::milliseconds timeout{};
  const char* operation = nullptr;  // The user's call; null if it is not known.
  const char* advice = "";          // The end of an error's text if the ranks' calls differ.
  bool is_open = false;             // True while a call runs.

 private:
  std::string name_of(const char* call) const;
  void with_limit(const Body& body);
  QueuedCalls::Done note_queued();
  std::string give_up(const NumberedCall& call, const std::string& reason);
  void leave();
};

}  // namespace accel::runtime
