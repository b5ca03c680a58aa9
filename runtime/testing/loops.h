// Loops over loaders of numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>

#include "runtime/testing/datasets.h"

namespace accel::runtime {

// Returns the samples that an epoch of `loader` yields.
template <typename Loader>
Values all_of(Loader& loader) {
  Values all;
  for (const torch::Tensor& batch : loader) {
    for (std::int64_t value : values(batch)) all.push_back(value);
  }
  return all;
}

inline Values range(std::int64_t begin, std::int64_t end) {
  Values numbers(static_cast<std::size_t>(end - begin));
  std::iota(numbers.begin(), numbers.end(), begin);
  return numbers;
}

// Returns options for batches of two.
inline torch::data::DataLoaderOptions with_workers(std::size_t workers) {
  return torch::data::DataLoaderOptions(2).workers(workers);
}

}  // namespace accel::runtime
