#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "runtime/core/step_samples.h"

namespace accel::runtime {

// A batch that was read, and the samples of its step.
template <typename Batch>
struct LoadedBatch {
  Batch batch;
  StepSamples samples;
};

// The batches of one epoch, in order. Not thread-safe.
template <typename Batch>
class BatchStream {
 public:
  BatchStream() = default;
  virtual ~BatchStream() = default;
  BatchStream(const BatchStream&) = delete;
  BatchStream& operator=(const BatchStream&) = delete;

  // Returns the next batch, or std::nullopt at the end.
  virtual std::optional<LoadedBatch<Batch>> next() = 0;
};

// The position at which a stream begins.
struct EpochStart {
  // The number of the epoch.
  std::size_t number = 0;
  // The number of samples of the epoch that are skipped, and the number of steps that are
  // skipped after them.
  std::size_t samples = 0;
  std::size_t steps = 0;
  std::optional<std::uint64_t> seed;
};

}  // namespace accel::runtime
