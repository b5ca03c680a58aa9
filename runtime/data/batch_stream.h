#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "runtime/core/step_samples.h"

namespace accel {

// What this process gets in one step.
template <typename Batch>
struct LoadedBatch {
  Batch batch;
  StepSamples position;
};

// The steps of one epoch, in order. Not thread-safe.
template <typename Batch>
class BatchStream {
 public:
  BatchStream() = default;
  virtual ~BatchStream() = default;
  BatchStream(const BatchStream&) = delete;
  BatchStream& operator=(const BatchStream&) = delete;

  // The next step, or std::nullopt at the end.
  virtual std::optional<LoadedBatch<Batch>> next() = 0;
};

// Where in which epoch a stream begins.
struct EpochStart {
  std::size_t number = 0;
  // Samples of the epoch, then steps, that are passed over.
  std::size_t samples = 0;
  std::size_t steps = 0;
  std::optional<std::uint64_t> seed;
};

}  // namespace accel
