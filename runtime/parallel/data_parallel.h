#pragma once

#include <memory>

#include "runtime/core/data_parallel_options.h"
#include "runtime/parallel/strategy.h"

namespace accel {

class Communicator;

// Every rank holds the whole model. Parameters and buffers start as rank 0's (collective: one check
// of the shapes, then a broadcast); each backward pass leaves the mean of all ranks' gradients,
// all-reduced in buckets while the pass goes on; the buffers of a model in training mode follow
// rank 0's after it. Parameters may be frozen and unfrozen on the way, on all ranks alike. Returns
// null if no parameter requires a gradient. Throws std::invalid_argument for a bucket_cap_mb below
// 1, or if the ranks' models differ.
std::shared_ptr<ParallelStrategy> make_data_parallel(std::shared_ptr<torch::nn::Module> module,
                                                     std::shared_ptr<Communicator> communicator,
                                                     const DataParallelOptions& options);

}  // namespace accel
