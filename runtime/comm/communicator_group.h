// What a Communicator is made of; for its own sources, which find LibTorch here.
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

namespace accel {

// Destroyed in reverse order: what communicates goes before the store.
struct Communicator::Group {
  using Body = std::function<void()>;

  ~Group() {
    if (queue != nullptr) leave();
  }

  // Runs one call of this rank. Errors that are not of the communication come out as they are, and
  // at once.
  void watched(const char* call, const Body& body);
  // The same until the result is there.
  void run(const char* call, const Body& body);
  // The same, but on a GPU until it is queued in the current stream.
  void enqueue(const char* call, const Body& body);

  // For a call whose work is waited for at once, which on the CPU spares it a thread. NCCL gives no
  // work for such a call.
  template <typename Options>
  Options waited_for(Options options) const {
    options.asyncOp = device.is_cuda();
    return options;
  }

  // Throws std::invalid_argument for a tensor that NCCL cannot reach.
  void check_device(const at::Tensor& tensor) const;

  // Makes the calls on a GPU give up in time.
  void watch_queue();

  const pid_t process = getpid();
  at::Device device{at::kCPU};
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::Backend> backend;
  c10::intrusive_ptr<c10d::ProcessGroup> process_group;

  std::unique_ptr<CallWatch> watch;
  std::unique_ptr<QueuedCalls> queue;  // Of a GPU; null on the CPU.
  std::chrono::milliseconds timeout{};
  const char* operation = nullptr;  // What the user called, if it is known.
  const char* advice = "";          // What its error says to do if the ranks do not fit together.
  bool is_open = false;

 private:
  void with_limit(const Body& body);
  QueuedCalls::Done note_queued();
  std::string give_up(const NumberedCall& call, const std::string& reason);
  void leave();
};

}  // namespace accel
