// Loss scaling, as torch.amp.GradScaler: small fp16 gradients do not vanish, and a step whose
// gradients overflowed is skipped.
#pragma once

#include <memory>
#include <vector>

#include "runtime/core/loss_scale.h"

namespace at {
class Tensor;
}
namespace torch::optim {
class Optimizer;
}

namespace accel {

// One for all optimizers of an Accelerator. A round goes from the losses that are scaled, over the
// steps of the optimizers, to the next loss: only then does the scale move, so that every optimizer
// of a round undoes the scale that its gradients have. Not thread-safe.
class LossScaler {
 public:
  explicit LossScaler(const LossScaling& options) : scale_(options) {}

  void add(const std::shared_ptr<torch::optim::Optimizer>& optimizer);
  // Forgets all optimizers; the scale stays.
  void clear() { optimizers_.clear(); }

  // `loss`, scaled; begins a round if gradients have been unscaled in this one. `reduced`: those of
  // its backward pass will be the same on all ranks.
  at::Tensor scale(const at::Tensor& loss, bool reduced);

  // Divides the gradients of an added optimizer, of all, or of those that own one of `parameters`
  // by the scale, in place; once in each round. Throws std::invalid_argument for fp16 gradients.
  void unscale(const torch::optim::Optimizer& optimizer);
  void unscale_all();
  void unscale_owners(const std::vector<at::Tensor>& parameters);

  // unscale(), and whether all gradients are finite, so that the optimizer may step.
  bool may_step(const torch::optim::Optimizer& optimizer);
  // Whether it did not, when it was to step last.
  bool step_was_skipped(const torch::optim::Optimizer& optimizer) const;
  bool any_step_was_skipped() const;

  // Where the scale is once this round has ended.
  LossScaleState state() const;
  // Ends the round.
  void set_state(const LossScaleState& state);

  // Whether an optimizer has stepped on gradients that were not reduced, after which the ranks'
  // scales may differ.
  bool may_differ() const { return may_differ_; }
  void made_equal() { may_differ_ = false; }

 private:
  struct Owned {
    std::weak_ptr<torch::optim::Optimizer> living;
    const torch::optim::Optimizer* optimizer;
    // In this round.
    bool unscaled = false;
    bool overflowed = false;
    // In the last step.
    bool skipped = false;
  };
  Owned& of(const torch::optim::Optimizer& optimizer);
  void unscale(Owned& owned);
  LossScale after_round() const;
  void end_round();

  LossScale scale_;
  std::vector<Owned> optimizers_;
  bool reduced_ = true;  // The gradients of all backward passes of this round.
  bool may_differ_ = false;
};

}  // namespace accel
