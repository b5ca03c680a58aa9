// Finds the prepared models that a loss depends on (docs/decisions/0025).
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "runtime/parallel/strategy.h"

namespace accel::runtime {

// The graph behind one loss at construction. The constructor calls follow_changes() of the models,
// which may rebuild their reducers. Both arguments must outlive this object. Not thread-safe.
class LossGraph {
 public:
  LossGraph(const at::Tensor& loss, const Strategies& prepared);

  // Returns true if the backward pass belongs to prepared[i].
  bool reaches(std::size_t i) const;

 private:
  const at::Tensor& loss_;
  const Strategies& prepared_;
  // For each model, true if the loss reaches it. Set only if models have parameters in common.
  // Such a parameter does not show which of its models was called, so the other parameters in
  // the graph decide.
  std::optional<std::vector<bool>> reached_;
};

}  // namespace accel::runtime
