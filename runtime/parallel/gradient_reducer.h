#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "accel/options.h"
#include "runtime/comm/communicator.h"
#include "runtime/parallel/model_tensors.h"

namespace accel {

// Averages the gradients of a fixed set of parameters over the ranks, in buckets and while a
// backward pass goes on: LibTorch's Reducer, and what it lacks. Between passes, gradients are
// tensors of their own and not views. Not thread-safe.
class GradientReducer {
 public:
  // `parameters` is not empty. Gradients that are there become part of the next pass.
  GradientReducer(std::vector<TrainedParameter> parameters,
                  std::shared_ptr<Communicator> communicator, const DataParallelOptions& options);
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  // Before a backward pass: gradients are reduced as they become ready. `outputs`: what it begins
  // at, needed to find_unused_parameters. Collective in the second pass: two broadcasts, after
  // which buckets are filled in the order in which gradients become ready.
  void begin_pass(const std::vector<at::Tensor>& outputs);

  // After it. Gradients are the same on all ranks if it returns true; if it returns false, the loss
  // did not depend on all parameters. Collective for the first pass over a static_graph.
  [[nodiscard]] bool end_pass();

  // Instead of end_pass(), for a pass that failed: gradients are anything, and the next pass is as
  // if this one had not been. Returns whether a part of it has reached the other ranks, so that
  // they must give it up as well.
  bool cancel_pass();

  // A static_graph is learned from the first pass that there is at all, reduced or not.
  bool learns_graph() const { return learns_graph_; }

  // How much is reduced at once, in the order in which it is.
  std::vector<std::size_t> bucket_bytes() const;

 private:
  class Reducer;
  std::unique_ptr<Reducer> make() const;
  void release_views();

  const std::vector<TrainedParameter> parameters_;
  const std::shared_ptr<Communicator> communicator_;
  const DataParallelOptions options_;
  bool learns_graph_ = false;
  std::unique_ptr<Reducer> reducer_;  // Refers to the communicator, and goes first.
};

}  // namespace accel
