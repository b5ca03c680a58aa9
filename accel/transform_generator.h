#pragma once

namespace at {
struct Generator;
}

namespace accel {

// Returns the random number generator that a dataset uses for random transforms while a data loader
// of accel reads it:
//
//   return image + 0.1 * torch::randn(image.sizes(), accel::transform_generator());
//
// In a prepared loader, its numbers are the same in each run and with any number of worker threads.
// For a dataset with indices, they depend on the seed, the epoch and the place of the batch in it.
// For a stream, one sequence runs from the epoch's first sample to its last. Everywhere else this
// is the process-wide CPU generator, whose numbers come in an order that depends on the threads.
at::Generator transform_generator();

}  // namespace accel
