#pragma once

#include <torch/nn/module.h>

#include <memory>

#include "runtime/comm/communicator.h"
#include "runtime/parallel/strategy.h"

namespace accel {

struct DataParallelOptions {
  // True: parameters that take no part in a loss are allowed, at the price of one walk over the
  // graph and one small all-reduce for each backward pass. False: they are an error.
  bool find_unused_parameters = false;
};

// Every rank holds the whole model. Parameters and buffers start as rank 0's (collective: one check
// of the shapes, then a broadcast); each backward pass leaves the mean of all ranks' gradients,
// all-reduced in buckets while the pass goes on; the buffers of a model in training mode follow
// rank 0's after it. Returns null if no parameter requires a gradient.
std::shared_ptr<ParallelStrategy> make_data_parallel(std::shared_ptr<torch::nn::Module> module,
                                                     std::shared_ptr<Communicator> communicator,
                                                     const DataParallelOptions& options);

}  // namespace accel
