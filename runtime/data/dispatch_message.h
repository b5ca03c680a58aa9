// The numbers by which rank 0 describes each step of a dispatched loader to the other ranks.
//
// The receivers allocate memory by these numbers, so they check the numbers first. Rank 0 may be in
// another call that sends equally many numbers. Each number of a step is tagged (tagged_size.h), so
// that the numbers of another call are recognized. A layout must not contradict itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "runtime/core/step_samples.h"

namespace accel::runtime {

// Thrown if the numbers are not such a message. The text says what rank 0 sent, as in "sent no
// number of padded samples".
class BadDispatchMessage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The start of each step, which is broadcast as kStepNumbers numbers.
struct DispatchedStep {
  enum class Kind { kEnd, kBatch, kFailed };
  Kind kind = Kind::kEnd;
  StepSamples samples;  // The samples of a batch. `end_of_dataloader` is not sent.
  // The length of the new layout that is broadcast next, or 0 if the layout has not changed.
  std::size_t layout_numbers = 0;
};

inline constexpr std::size_t kStepNumbers = 5;

std::vector<std::int64_t> numbers_of(const DispatchedStep& step);
// Reads a step. Throws BadDispatchMessage if the numbers are malformed, or if the layout is
// longer than kMaxLayoutNumbers. Also throws it if the padded samples do not divide by the
// number of processes.
DispatchedStep read_step(const std::vector<std::int64_t>& numbers, std::size_t num_processes);

// One tensor of a batch: the number of its dtype in LibTorch, and the sizes of its dimensions. The
// first dimension, which counts the samples, is left out.
struct TensorLayout {
  std::int64_t dtype = 0;
  std::vector<std::int64_t> row_sizes;

  bool operator==(const TensorLayout&) const = default;
};

// Maximum length of a layout. A tensor of d dimensions takes d + 1 numbers.
inline constexpr std::size_t kMaxLayoutNumbers = 1 << 20;
// Maximum number of elements of one process's slice of a tensor.
inline constexpr std::int64_t kMaxSliceElements = std::int64_t{1} << 40;

std::vector<std::int64_t> numbers_of(const std::vector<TensorLayout>& layout);
// Throws BadDispatchMessage unless every dtype is below `num_dtypes`, every size is at least 0, and
// the numbers end with the last tensor.
std::vector<TensorLayout> read_layout(const std::vector<std::int64_t>& numbers,
                                      std::int64_t num_dtypes);

// Throws BadDispatchMessage if a slice of `rows` rows exceeds kMaxSliceElements, or if there is no
// tensor.
void check_slice(const std::vector<TensorLayout>& layout, std::int64_t rows);

}  // namespace accel::runtime
