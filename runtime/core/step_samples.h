// How many samples the running step of a loader has.
#pragma once

#include <cstddef>

namespace accel {

// The samples of one step of a loader, on all processes together. Concatenated in process order,
// they are real_samples distinct ones and then repetitions, padded_samples in all.
struct StepSamples {
  bool end_of_dataloader = false;
  std::size_t real_samples = 0;
  std::size_t padded_samples = 0;
  // The real samples of the epoch up to and including this step.
  std::size_t seen_samples = 0;
};

}  // namespace accel
