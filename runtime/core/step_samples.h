// The number of samples in one step of a loader, and of those that count.
#pragma once

#include <cstddef>

namespace accel::runtime {

// The samples of one step of a loader, on all processes together. If the batches of all processes
// are concatenated in process order, the first real_samples of their padded_samples samples count.
// The rest is padding, which repeats other samples.
struct StepSamples {
  bool end_of_dataloader = false;  // The step is the last one of its loop.
  std::size_t real_samples = 0;
  std::size_t padded_samples = 0;
  // The real samples of the epoch up to and including this step.
  std::size_t seen_samples = 0;
};

}  // namespace accel::runtime
