// The identity of this process among the processes of a job, and calls in a certain order
// of the processes.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "accel/progress.h"
#include "runtime/comm/communicator.h"

namespace accel::runtime {

struct ProcessState;

// The part of an Accelerator that is independent of training. accel/accelerator.h documents the
// methods. Not thread-safe.
class ProcessControl {
 public:
  ProcessControl(std::shared_ptr<ProcessState> state, bool debug);

  int num_processes() const;
  int process_index() const;
  int local_process_index() const;
  bool use_distributed() const { return num_processes() > 1; }
  c10::Device device() const;
  ProcessState& state() const { return *state_; }

  void wait_for_everyone() const;
  void set_trigger() const;
  bool check_trigger() const;
  void set_seed(std::uint64_t seed, bool device_specific) const;
  void synchronize_rng_states() const;

  // While the returned scope lives, errors of the communicator name `operation`, which must be a
  // literal. In debug mode all ranks first compare the operation and the shapes and dtypes of
  // `tensors`. Throws DistributedOperationError if they differ, except in the size of
  // `free_dimension`. Throws std::logic_error inside join_uneven_inputs(), because ranks that have
  // ended would not take part.
  [[nodiscard]] OperationScope begin_operation(
      const char* operation, const std::vector<at::Tensor>& tensors = {},
      std::optional<std::int64_t> free_dimension = {}) const;

  template <typename Range>
  ProgressRange<Range> progress(Range& range, std::string label) const {
    return ProgressRange<Range>(range, progress_meter(std::move(label), length_of(range)));
  }

  auto main_first(auto& body) const {
    return call_first("main_process_first", process_index() == 0, body);
  }
  auto local_main_first(auto& body) const {
    return call_first("local_main_process_first", local_process_index() == 0, body);
  }
  auto on_main(auto& body) const { return call_if(process_index() == 0, "on_main_process", body); }
  auto on_local_main(auto& body) const {
    return call_if(local_process_index() == 0, "on_local_main_process", body);
  }
  auto on_last(auto& body) const {
    return call_if(process_index() == num_processes() - 1, "on_last_process", body);
  }
  auto on(int index, auto& body) const {
    return call_if(process_index() == index, "on_process", body);
  }
  auto on_local(int index, auto& body) const {
    return call_if(local_process_index() == index, "on_local_process", body);
  }

 private:
  // Returns null except on each machine's main process.
  std::unique_ptr<ProgressMeter> progress_meter(std::string label,
                                                std::optional<std::size_t> total) const;

  // Calls `body` on the processes for which `first` is true, and then on the others.
  template <typename Body>
  auto call_first(const char* operation, bool first, Body& body) const {
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

  // Calls `body` if `mine`. Returns its result, or nullopt on the other processes.
  template <typename Body>
  auto call_if(bool mine, const char* operation, Body& body) const {
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

  // Blocks until `body` has returned or thrown on the first processes, and exchanges their errors.
  // Throws if `body` failed on one of them, unless this process passes an `error` itself.
  void await_first(const char* operation, std::exception_ptr error) const;
  // Publishes the error, so that errors of the other ranks name it (docs/decisions/0021).
  void note_failure(const char* operation, std::exception_ptr error) const;

  const std::shared_ptr<ProcessState> state_;
  const bool debug_;
};

}  // namespace accel::runtime
