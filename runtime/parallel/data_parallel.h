#pragma once

#include <memory>

#include "runtime/parallel/strategy.h"

namespace accel::runtime {

class Communicator;

// Returns a strategy in which every rank holds the whole model. From its prepare() on, each
// backward pass leaves the mean of all ranks' gradients, which are all-reduced in buckets while the
// pass goes on; then the buffers of a model in training mode become rank 0's.
//
// A program may change the model at any time, on all ranks alike: freeze and unfreeze, load, cast
// or move it, add and remove parts. New parameters must be the same on all ranks.
std::shared_ptr<ParallelStrategy> make_data_parallel(std::shared_ptr<torch::nn::Module> module,
                                                     std::shared_ptr<Communicator> communicator);

}  // namespace accel::runtime
