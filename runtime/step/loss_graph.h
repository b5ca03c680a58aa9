// Which prepared models a loss depends on.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "runtime/parallel/strategy.h"

namespace accel::runtime {

// The graph behind one loss, as of the constructor; both arguments outlive this. The constructor
// lets the models follow what the program has changed, which may rebuild their reducers. Not
// thread-safe.
class LossGraph {
 public:
  LossGraph(const at::Tensor& loss, const Strategies& prepared);

  // Whether the backward pass is one of prepared[i].
  bool reaches(std::size_t i) const;

 private:
  const at::Tensor& loss_;
  const Strategies& prepared_;
  // By index, if models have parameters in common. A parameter does not tell then which of its
  // models was called; the other parameters in the graph do.
  std::optional<std::vector<bool>> reached_;
};

}  // namespace accel::runtime
