// The parts of a Communicator, and the way in which its calls run and fail. Private to the sources
// of Communicator, which get their LibTorch headers from here.
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

// A world, or a group of it that split() has made.
struct Communicator::World {
  Environment environment;  // The rank and size within the group.
  std::string prefix;       // The prefix of its keys in the store.
  at::Device device{at::kCPU};
  std::chrono::milliseconds timeout{};
  MakeGpuBackend make_gpu_backend;
  std::string name;  // For errors, such as " (ranks 0, 2)"; empty for the whole world.
};

// The connections and threads of a Communicator. Members are destroyed in reverse order, so threads
// and backends are destroyed before the store that they use.
struct Communicator::Group {
  using Body = std::function<void()>;

  ~Group() {
    if (queue != nullptr) leave();
  }

  // Runs one call of this rank. Numbers and watches the call, and gives errors of communication a
  // text that names the call and the missing ranks. Other errors are rethrown unchanged, without
  // waiting for other ranks. A call inside another call has no separate number, because it counts
  // as a part of the outer call.
  void watched(const char* call, const Body& body);
  // Runs one call on memory of the hosts, and returns when its result is available.
  void run(const char* call, const Body& body);
  // Runs one call on memory of the GPUs, and returns when it is queued on the current stream.
  void enqueue(const char* call, const Body& body);

  // The backend that exchanges a call's tensors: the one for the hosts, or the one for the GPUs.
  struct Place {
    c10d::Backend* backend = nullptr;
    // An option of the call. A call on the hosts is synchronous, so that it runs on this thread. A
    // call on GPUs is asynchronous although the stream waits for it immediately, because NCCL
    // returns no work object for a synchronous call.
    bool is_async = false;
  };
  // Returns the place of a call with these tensors: the GPUs if any of them is on the GPU. Throws
  // std::invalid_argument if a tensor is on a device that is not this communicator's.
  Place place_of(const std::vector<at::Tensor>& tensors) const;
  void call(const char* name, const Place& place, const Body& body) {
    place.is_async ? enqueue(name, body) : run(name, body);
  }

  // Throws CallsDiffer. Used after a call has completed, if the data received from a peer shows
  // that the peer made a different call. `call` is the collective that received the data.
  [[noreturn]] void fail_differing(const char* call, const std::string& reason);

  // Starts the thread that aborts NCCL when a queued call exceeds the timeout.
  void watch_queue();

  const pid_t process = getpid();
  World world;
  int splits = 0;  // The number of calls of split().
  at::Device device{at::kCPU};
  c10::intrusive_ptr<c10d::Store> store;
  // The backends for tensors of the hosts and of the GPUs. The second one is null on the CPU.
  c10::intrusive_ptr<c10d::Backend> control, backend;
  // Returns the ranks whose processes have ended, as far as this host's kernel knows.
  std::function<std::vector<int>()> ended_ranks;
  c10::intrusive_ptr<c10d::ProcessGroup> process_group;

  std::unique_ptr<CallWatch> watch;
  std::unique_ptr<QueuedCalls> queue;  // The calls that the GPU has queued; null on the CPU.
  std::chrono::milliseconds timeout{};
  const char* operation = nullptr;  // The user's call; null if it is not known.
  const char* advice = "";          // The end of an error's text if the ranks' calls differ.
  bool is_open = false;             // True while a call runs.
  bool has_thrown = false;          // True once a call has thrown the error of a queued one.

 private:
  void check_queue();
  std::string name_of(const char* call) const;
  void with_limit(const Body& body);
  void note_queued();
  std::string failure_of_link() const;
  std::string give_up(const NumberedCall& call, const std::string& reason);
  void leave();
};

}  // namespace accel::runtime
