// find_executable_batch_size(): repeats a function with smaller and smaller batches until it fits
// into memory, as Accelerate's decorator of that name does.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

namespace accel {

// Returns true if a smaller batch may avoid the error: memory ran out, or cuDNN cannot run so large
// a batch. LibTorch throws both as c10::Error, so the text decides. std::logic_error and
// std::bad_alloc never count, because LibTorch's allocators throw neither.
bool should_reduce_batch_size(const std::exception& error);

struct BatchSizeOptions {
  std::int64_t starting_batch_size = 128;
  // Returns the next smaller batch size, or 0 to give up. If empty, each size is 9/10 of the one
  // before, rounded down.
  std::function<std::int64_t(std::int64_t)> reduce_batch_size;
};

// Wraps a function whose first argument is the batch size. If the function runs out of memory, the
// wrapper calls it again with a smaller size. The next call of the wrapper starts with the size
// that succeeded. Not thread-safe.
//
//   auto train = accel::find_executable_batch_size([&](std::int64_t batch_size) { ... });
//   train();
template <typename Function>
class BatchSizeSearch {
 public:
  BatchSizeSearch(Function function, BatchSizeOptions options)
      : function_(std::move(function)), options_(std::move(options)) {}

  // Returns what the function returns. Throws std::runtime_error if the size reaches 0, and
  // std::logic_error if reduce_batch_size does not return a smaller size. Rethrows other errors of
  // the function unchanged.
  template <typename... Args>
  auto operator()(const Args&... args) {
    while (true) {
      if (options_.starting_batch_size <= 0) {
        throw std::runtime_error("No executable batch size found, reached zero.");
      }
      try {
        return function_(options_.starting_batch_size, args...);
      } catch (const std::exception& error) {
        if (!should_reduce_batch_size(error)) throw;
      }
      // Not in the handler, because the exception keeps memory of the failed call alive until
      // the handler ends.
      reduce();
    }
  }

 private:
  void reduce() {
    std::int64_t& size = options_.starting_batch_size;
    const std::int64_t smaller =
        options_.reduce_batch_size ? options_.reduce_batch_size(size) : size * 9 / 10;
    if (smaller >= size) {
      throw std::logic_error("reduce_batch_size must make the batch smaller than " +
                             std::to_string(size) + ", not " + std::to_string(smaller));
    }
    size = smaller;
  }

  Function function_;
  BatchSizeOptions options_;
};

template <typename Function>
BatchSizeSearch<Function> find_executable_batch_size(Function function,
                                                     BatchSizeOptions options = {}) {
  return BatchSizeSearch<Function>(std::move(function), std::move(options));
}

}  // namespace accel
