// Reproducible random numbers for the transforms of datasets.
#pragma once

namespace at {
struct Generator;
}

namespace accel {

// Returns the random number generator for the random transforms of a dataset, while an accel data
// loader reads it:
//
//   return image + 0.1 * torch::randn(image.sizes(), accel::transform_generator());
//
// In a prepared loader, its numbers are the same in each run and with any number of worker threads.
// For a dataset with indices, they depend on the seed, the process, the epoch and the position of
// the batch in the epoch. For a stream, one sequence runs from the epoch's first sample to its
// last. Outside of prepared loaders, this is the process-wide CPU generator, and its numbers depend
// on the order in which threads draw from it (docs/decisions/0019).
at::Generator transform_generator();

}  // namespace accel
