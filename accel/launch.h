// Runs a function of this program in several processes of this machine, and returns its results.
//
//   std::vector<double> losses =
//       accel::launch([&] { return train(folder); }, {.num_processes = 2, .cpu = true});
//
// Starts `accel launch` on this program with its own arguments. Each worker executes main() again
// up to the same call of launch(), calls the function there, hands over the result, and exits. The
// function may therefore be any lambda, with any captures, at any place of the program. The program
// itself may use threads and GPUs, because a worker is a new process and no fork. Consequences:
//
//   - A worker, too, executes what main() does before the call. is_launched() returns true there.
//     In a worker, captured variables have the values that its own main() gave them.
//   - An earlier call of launch() starts nothing in a worker. There it returns or throws what it
//     returned or threw in the caller. So the calls must come in the same order in each process.
//   - Workers start in the working directory of the time of the call, so a program that changes it
//     must not need relative paths in its arguments.
//
// The workers have the environment of `accel launch`, so each may construct an
// accel::Accelerator. They end with SIGTERM if this program ends, even by SIGKILL. They write to
// the output of this program. Call launch() from one thread at a time. A call from within the
// function throws std::logic_error.
#pragma once

#include <torch/types.h>

#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "accel/errors.h"

namespace accel {

struct LaunchOptions {
  int num_processes = 1;  // At least 1.
  bool cpu = false;       // If true, use no GPU.
  int max_restarts = 0;   // Start all workers again after a failure, at most this many times.
  // Further flags of `accel launch`, for example "--mixed_precision=bf16".
  std::vector<std::string> flags;
  // Path of the program accel. If empty, the environment variable ACCEL_PROGRAM has the path; if
  // that is not set, the program is searched in PATH.
  std::string program;
};

// Returns true in a worker of launch(), from its start.
bool is_launched();

namespace runtime {

// launch() for a function that returns bytes. Throws what launch() does.
std::vector<std::string> launch_bytes(const std::function<std::string()>& function,
                                      const LaunchOptions& options);
std::string tensors_to_bytes(const std::vector<torch::Tensor>& tensors);
std::vector<torch::Tensor> tensors_from_bytes(const std::string& bytes);

template <typename Result>
std::string to_bytes(const Result& result) {
  if constexpr (std::is_same_v<Result, std::string>) {
    return result;
  } else if constexpr (std::is_same_v<Result, torch::Tensor>) {
    return tensors_to_bytes({result});
  } else if constexpr (std::is_same_v<Result, std::vector<torch::Tensor>>) {
    return tensors_to_bytes(result);
  } else {
    static_assert(
        std::is_trivially_copyable_v<Result> && !std::is_pointer_v<Result>,
        "return void, std::string, torch::Tensor, std::vector<torch::Tensor>, a number, or "
        "a struct of numbers");
    return std::string(reinterpret_cast<const char*>(&result), sizeof(result));
  }
}

template <typename Result>
Result from_bytes(const std::string& bytes) {
  if constexpr (std::is_same_v<Result, std::string>) {
    return bytes;
  } else if constexpr (std::is_same_v<Result, torch::Tensor>) {
    return tensors_from_bytes(bytes).at(0);
  } else if constexpr (std::is_same_v<Result, std::vector<torch::Tensor>>) {
    return tensors_from_bytes(bytes);
  } else {
    Result result;
    if (bytes.size() != sizeof(result)) throw std::runtime_error("a result has another size");
    std::memcpy(&result, bytes.data(), sizeof(result));
    return result;
  }
}

}  // namespace runtime

// Calls `function` in each worker, and returns the results in the order of ranks, or nothing if the
// function returns void. Tensors are returned on the CPU, without gradients. Blocks until all
// workers have ended.
//
// Throws LaunchError with the text of the worker's exception if a worker failed, or if accel launch
// did; std::invalid_argument if an option is out of range; std::runtime_error if there is no
// program accel, or no temporary folder can be made.
template <typename Function>
auto launch(Function function, const LaunchOptions& options) {
  using Result = std::decay_t<std::invoke_result_t<Function&>>;
  if constexpr (std::is_void_v<Result>) {
    runtime::launch_bytes(
        [&function] {
          function();
          return std::string();
        },
        options);
  } else {
    std::vector<Result> results;
    for (const std::string& bytes : runtime::launch_bytes(
             [&function] { return runtime::to_bytes<Result>(function()); }, options)) {
      results.push_back(runtime::from_bytes<Result>(bytes));
    }
    return results;
  }
}

}  // namespace accel
