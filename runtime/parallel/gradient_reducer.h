// Reduction of gradients during backward passes. The data parallel strategy has one for each model.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "accel/options.h"
#include "runtime/comm/communicator.h"
#include "runtime/parallel/model_tensors.h"

namespace accel::runtime {

// The gradients of a fixed set of parameters. They are averaged over the ranks in buckets, while a
// backward pass runs. Unlike LibTorch's Reducer, this object survives a pass that fails, and its
// gradients are not views of buckets between passes. Not thread-safe.
class GradientReducer {
 public:
  // `parameters` must not be empty. Existing gradients are added to those of the next pass.
  GradientReducer(std::vector<TrainedParameter> parameters,
                  std::shared_ptr<Communicator> communicator, const DataParallelOptions& options);
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  // Begins a backward pass, in which gradients are reduced as they become ready. `outputs` are
  // the tensors at which the pass begins, which only find_unused_parameters needs. Collective
  // in the second pass: two broadcasts. From then on, buckets are in the order in which
  // gradients became ready. With find_unused_parameters and without static_graph, the second
  // pass is not collective, and the order remains.
  void begin_pass(const std::vector<at::Tensor>& outputs);

  // Ends the pass. Returns true if gradients are the same on all ranks, and false if the loss did
  // not depend on all parameters. Collective for the first pass over a static_graph.
  [[nodiscard]] bool end_pass();

  // Ends a pass that failed, so that it does not affect the next pass. Gradients then have no
  // defined values. Returns true if this rank has sent a part of its gradients. The other ranks
  // must then abandon the pass as well.
  bool cancel_pass();

  // Returns true if the next pass is the first one over a static_graph, which the reducer learns
  // in that pass.
  bool learns_graph() const { return learns_graph_; }

  // Returns the sizes of the buckets, in the order in which they are reduced, for tests.
  std::vector<std::size_t> bucket_bytes() const;

 private:
  class Reducer;
  std::unique_ptr<Reducer> make() const;
  void release_views();

  const std::vector<TrainedParameter> parameters_;
  const std::shared_ptr<Communicator> communicator_;
  const DataParallelOptions options_;
  bool learns_graph_ = false;
  // Refers to the communicator, so it is declared after it and destroyed before it.
  std::unique_ptr<Reducer> reducer_;
};

}  // namespace accel::runtime
