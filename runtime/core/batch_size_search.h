#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

namespace accel {

// Whether the error says that memory ran out, or that cuDNN cannot run so large a batch, so that a
// smaller batch may do. LibTorch throws them as c10::Error; std::logic_error and std::bad_alloc,
// which is not LibTorch's, never count.
bool should_reduce_batch_size(const std::exception& error);

struct BatchSizeOptions {
  std::int64_t starting_batch_size = 128;
  // The next smaller size, 0 at the end; by default 9/10, rounded down.
  std::function<std::int64_t(std::int64_t)> reduce_batch_size;
};

// A function of a batch size, and of what else it takes, that is called again with a smaller one
// whenever it runs out of memory. The size that fitted is where the next call begins.
//
//   auto train = accel::find_executable_batch_size([&](std::int64_t batch_size) { ... });
//   train();
template <typename Function>
class BatchSizeSearch {
 public:
  BatchSizeSearch(Function function, BatchSizeOptions options)
      : function_(std::move(function)), options_(std::move(options)) {}

  // Throws std::runtime_error at size 0, and whatever else the function throws.
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
      // Out of the handler, which kept what the failed call threw alive.
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
