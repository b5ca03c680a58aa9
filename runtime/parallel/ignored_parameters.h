// The parameters of a sharded model that are in no unit, because ShardingOptions::ignored_modules
// names their modules. Each rank holds them whole, and they train as in data parallel training
// (docs/decisions/0082).
#pragma once

#include <vector>

#include "runtime/comm/communicator.h"
#include "runtime/parallel/unit_layout.h"

namespace accel::runtime {

// The ignored parameters of one model, and their gradients. When a ShardedModel reduces its units,
// these gradients become the mean over all ranks, too. Not thread-safe.
class IgnoredParameters {
 public:
  IgnoredParameters() = default;
  explicit IgnoredParameters(std::vector<UnitParameter> parameters);

  const std::vector<UnitParameter>& all() const { return parameters_; }

  // Between passes, the gradient of a parameter is the mean over all ranks. take_means() moves the
  // means away before a pass, and give_means() returns them after it.
  void take_means();
  void give_means();

  // Adds the gradients that have arrived in a pass to this rank's unreduced gradients.
  void keep_gradients();
  // Returns, by parameter, true if this rank has a gradient that is not reduced.
  std::vector<bool> has_gradients() const;
  // Adds the mean of the unreduced gradients over all ranks to the means, for each parameter i for
  // which has[i] is true. `has` must be the same on all ranks. A rank without a gradient counts as
  // zero. Collective: one all-reduce for each of these parameters.
  void reduce(const std::vector<bool>& has, Communicator& world);
  // Drop the unreduced gradient of parameter i, or all gradients.
  void drop_gradient(std::size_t i) { gradients_[i].own = at::Tensor(); }
  void drop_gradients();

 private:
  struct Gradient {
    at::Tensor own;   // The unreduced gradient; undefined if there is none.
    at::Tensor mean;  // The mean, inside of a pass; undefined if there is none.
  };

  std::vector<UnitParameter> parameters_;
  std::vector<Gradient> gradients_;  // By parameter.
};

}  // namespace accel::runtime
