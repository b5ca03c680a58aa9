// Data parallel training, the ParallelStrategy that Accelerator::prepare() gives to models that
// are not sharded.
#pragma once

#include <memory>

#include "runtime/parallel/strategy.h"

namespace accel::runtime {

class Communicator;

// Returns a strategy in which every rank holds the whole model. After its prepare(), each backward
// pass leaves the mean of all ranks' gradients, which are all-reduced in buckets while the pass
// runs. After the pass, the buffers of a model in training mode are copied from rank 0.
//
// A program may change the model at any time, on all ranks alike. It may freeze and unfreeze,
// load, cast or move it, and add and remove parts. New parameters must have the same values on
// all ranks (docs/decisions/0025).
std::shared_ptr<ParallelStrategy> make_data_parallel(std::shared_ptr<torch::nn::Module> module,
                                                     std::shared_ptr<Communicator> communicator);

}  // namespace accel::runtime
