// Which process this is, and who of the processes does what when.
#pragma once

#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "accel/progress.h"
#include "runtime/process_state.h"
#include "runtime/split.h"

namespace accel {

// The Accelerator's part that knows nothing of training. Methods marked "collective" are called by
// all ranks in the same order, and throw CommunicationError, which names the ranks that did not, if
// a peer stays away longer than the time-out or, on the CPU, is lost. A GPU's peer that is lost may
// end this process instead: NCCL's watchdog does so. Use it from one thread.
class ProcessControl {
 public:
  int num_processes() const { return state_->environment.world_size; }
  int process_index() const { return state_->environment.rank; }
  int local_process_index() const { return state_->environment.local_rank; }
  bool is_main_process() const { return process_index() == 0; }
  bool is_local_main_process() const { return local_process_index() == 0; }
  bool is_last_process() const { return process_index() == num_processes() - 1; }
  bool use_distributed() const { return num_processes() > 1; }
  c10::Device device() const { return state_->device; }

  // Returns when every rank has called it. Collective: one barrier.
  void wait_for_everyone() const;

  // Calls `body` on the main process (of the job; of each machine) and then on the others, as for a
  // data set that the first one downloads and the others find. Returns what `body` does. If it
  // throws on a first process, the others throw std::runtime_error with that text and do not begin.
  // Collective: two all-gathers.
  template <typename Body>
  auto main_process_first(Body&& body) const {
    return call_first("main_process_first", is_main_process(), std::forward<Body>(body));
  }
  template <typename Body>
  auto local_main_process_first(Body&& body) const {
    return call_first("local_main_process_first", is_local_main_process(),
                      std::forward<Body>(body));
  }

  // Calls `body` on one process only, without waiting for it on the others; there, a result is
  // std::nullopt. If it throws, and this process leaves, the others' next collective names it and
  // the text.
  template <typename Body>
  auto on_main_process(Body&& body) const {
    return call_if(is_main_process(), "on_main_process", std::forward<Body>(body));
  }
  template <typename Body>
  auto on_local_main_process(Body&& body) const {
    return call_if(is_local_main_process(), "on_local_main_process", std::forward<Body>(body));
  }
  template <typename Body>
  auto on_last_process(Body&& body) const {
    return call_if(is_last_process(), "on_last_process", std::forward<Body>(body));
  }
  template <typename Body>
  auto on_process(int process_index, Body&& body) const {
    return call_if(this->process_index() == process_index, "on_process", std::forward<Body>(body));
  }
  template <typename Body>
  auto on_local_process(int local_process_index, Body&& body) const {
    return call_if(this->local_process_index() == local_process_index, "on_local_process",
                   std::forward<Body>(body));
  }

  // Writes the arguments and a line end on standard output, on the main process of each machine
  // only.
  template <typename... Args>
  void print(const Args&... args) const {
    if (is_local_main_process()) ((std::cout << ... << args) << std::endl);
  }

  // `range` with a progress bar on standard error of each machine's main process; in a log file, a
  // line every 30 s. `range` outlives the loop; without a size it is counted alone.
  template <typename Range>
  ProgressRange<Range> progress(Range& range, std::string label = "") const {
    std::unique_ptr<ProgressMeter> meter;
    if (is_local_main_process()) {
      meter = std::make_unique<ProgressMeter>(std::move(label), length_of(range),
                                              state_->environment.terminal_columns);
    }
    return ProgressRange<Range>(range, std::move(meter));
  }

  // This process's part of the rows of a tensor, the items of a vector, or of several of one length
  // in a map, pair or tuple: consecutive parts, longer ones first. With `apply_padding` the last
  // item is repeated until all parts are as long. Throws std::invalid_argument if lengths differ.
  // Not a collective.
  template <typename T>
  T split_between_processes(const T& value, bool apply_padding = false) const {
    if (!use_distributed()) return value;
    return nested_internal::part_of(
        value, share_of(common_length(value), static_cast<std::size_t>(num_processes()),
                        static_cast<std::size_t>(process_index()), apply_padding));
  }

  // A flag that any rank raises and all ranks see: check_trigger() returns whether one of them has,
  // and lowers it everywhere. Collective: the check, one all-gather.
  void set_trigger();
  bool check_trigger();

  // Seeds torch's generators, of the CPU and of all GPUs. `device_specific`: with another number on
  // each process, seed + process_index().
  void set_seed(std::uint64_t seed, bool device_specific = false) const;
  // Gives every rank the state of rank 0's generators of the CPU and of device(). Collective: one
  // broadcast.
  void synchronize_rng_states() const;

 protected:
  ProcessControl(std::shared_ptr<ProcessState> state, bool debug)
      : state_(std::move(state)), debug_(debug || state_->environment.debug) {}
  ~ProcessControl() = default;
  ProcessControl(const ProcessControl&) = default;
  ProcessControl& operator=(const ProcessControl&) = default;

  // Until its end, errors of the communicator name `operation`. In debug mode all ranks compare
  // what they bring first; throws DistributedOperationError if they differ other than in
  // `free_dimension`.
  [[nodiscard]] OperationScope begin_operation(
      const char* operation, const std::vector<at::Tensor>& tensors = {},
      std::optional<std::int64_t> free_dimension = {}) const;

  std::shared_ptr<ProcessState> state_;

 private:
  template <typename Body>
  auto call_first(const char* operation, bool first, Body&& body) const {
    if (!first) await_first(operation, nullptr);
    const auto attempt = [&] {
      try {
        return body();
      } catch (...) {
        if (first) await_first(operation, std::current_exception());
        throw;
      }
    };
    if constexpr (std::is_void_v<decltype(body())>) {
      attempt();
      if (first) await_first(operation, nullptr);
    } else {
      auto result = attempt();
      if (first) await_first(operation, nullptr);
      return result;
    }
  }

  template <typename Body>
  auto call_if(bool mine, const char* operation, Body&& body) const {
    const auto attempt = [&] {
      try {
        return body();
      } catch (...) {
        note_failure(operation, std::current_exception());
        throw;
      }
    };
    if constexpr (std::is_void_v<decltype(body())>) {
      if (mine) attempt();
    } else {
      return mine ? std::optional(attempt()) : std::nullopt;
    }
  }

  // Exchanges how the first processes ended: returns when all have, and throws if one failed,
  // unless this one brings an `error` of its own.
  void await_first(const char* operation, std::exception_ptr error) const;
  // For the error texts of the others.
  void note_failure(const char* operation, std::exception_ptr error) const;

  bool debug_;
};

}  // namespace accel
