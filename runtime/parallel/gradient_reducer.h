#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "accel/options.h"
#include "runtime/comm/communicator.h"
#include "runtime/parallel/model_tensors.h"

namespace accel::runtime {

// Averages the gradients of a fixed set of parameters over the ranks, in buckets and while a
// backward pass goes on. Adds to LibTorch's Reducer that a pass may fail, and that gradients are no
// views between passes. Not thread-safe.
class GradientReducer {
 public:
  // `parameters` is not empty. Gradients that exist already are added to those of the next pass.
  GradientReducer(std::vector<TrainedParameter> parameters,
                  std::shared_ptr<Communicator> communicator, const DataParallelOptions& options);
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  // Begins a backward pass: gradients are reduced as they become ready. `outputs` are the tensors
  // at which the pass begins; only find_unused_parameters needs them. Collective in the second
  // pass: two broadcasts, after which buckets are in the order in which gradients become ready.
  void begin_pass(const std::vector<at::Tensor>& outputs);

  // Ends the pass. Returns true if gradients are the same on all ranks, false if the loss did not
  // depend on all parameters. Collective for the first pass over a static_graph.
  [[nodiscard]] bool end_pass();

  // Ends a pass that failed, so that the next pass is as if it had not been; gradients are
  // undefined. Returns whether this rank has sent a part of its gradients, so that the other ranks
  // must abandon the pass as well.
  bool cancel_pass();

  // Whether the next pass is the first one over a static_graph, from which the reducer learns it.
  bool learns_graph() const { return learns_graph_; }

  // Returns the sizes of the buckets, in the order in which they are reduced.
  std::vector<std::size_t> bucket_bytes() const;

 private:
  class Reducer;
  std::unique_ptr<Reducer> make() const;
  void release_views();

  const std::vector<TrainedParameter> parameters_;
  const std::shared_ptr<Communicator> communicator_;
  const DataParallelOptions options_;
  bool learns_graph_ = false;
  // Refers to the communicator, so it stands after it and is destroyed before it.
  std::unique_ptr<Reducer> reducer_;
};

}  // namespace accel::runtime
