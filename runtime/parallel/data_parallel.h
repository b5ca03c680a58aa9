#pragma once

#include <memory>

#include "runtime/parallel/strategy.h"

namespace accel {

class Communicator;

// Every rank holds the whole model; each backward pass leaves the mean of all ranks' gradients,
// all-reduced in buckets while the pass goes on, and the buffers of a model in training mode follow
// rank 0's after it. It begins to hold with prepare().
//
// A program may change the model at any time, on all ranks alike: freeze and unfreeze it, load,
// cast or move it, add and remove parts. Parameters that are new then must be the same on all
// ranks.
std::shared_ptr<ParallelStrategy> make_data_parallel(std::shared_ptr<torch::nn::Module> module,
                                                     std::shared_ptr<Communicator> communicator);

}  // namespace accel
