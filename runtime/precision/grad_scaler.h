// Loss scaling, as torch.amp.GradScaler does it. Small fp16 gradients do not become 0, and a step
// whose gradients overflowed is skipped (docs/decisions/0018). runtime/core/scale_round.cc explains
// when the scale changes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "runtime/core/loss_scale.h"
#include "runtime/core/scale_round.h"
#include "runtime/optim/gradient_origin.h"

namespace at {
class Tensor;
}
namespace torch::optim {
class Optimizer;
}

namespace accel::runtime {

// The backward pass that a loss is scaled for.
struct ScaledPass {
  // True if its gradients are never reduced. Its scale then depends on this process's overflows.
  bool is_own = false;
  // The number of the batch of accumulate() that the pass belongs to. All optimizers have the same
  // scale in a batch. nullopt outside of accumulate().
  std::optional<std::uint64_t> batch = {};
};

// The scaler of all optimizers of an Accelerator. Between two losses, the gradients of every
// optimizer have the scale of the last loss, or are unscaled. When the scale changes, existing
// gradients are multiplied. They then have the new scale as well, so later gradients can be
// added to them.
//
// There are two scales. All processes share one of them, which steps on reduced gradients change.
// The other is this process's own. Steps on gradients of this process alone change it, and it
// applies to passes that are never reduced. Not thread-safe.
class GradScaler {
 public:
  explicit GradScaler(const LossScalingOptions& options);

  // Adds an optimizer, once. If its gradients are always reduced, `gradients` is null.
  void add(const std::shared_ptr<torch::optim::Optimizer>& optimizer,
           std::shared_ptr<const OptimizerGradients> gradients = nullptr);
  // Sets a function that returns true on all ranks if its argument is true on any rank. It
  // is needed if ranks have pieces of gradients, because an overflow may then be in one
  // rank's piece alone.
  void set_agreement(std::function<bool(bool)> agree) { agree_ = std::move(agree); }
  // Forgets all optimizers, but not the scale.
  void clear() { optimizers_.clear(); }

  // Returns the scaled loss. Changes the scale if a round has ended. Throws std::logic_error if
  // there is no optimizer that would unscale the gradients.
  at::Tensor scale(const at::Tensor& loss, const ScaledPass& pass);

  // Divide gradients by their scale, in place. The gradients are those of one added optimizer, of
  // all, or of each optimizer that has one of `parameters`. Further calls before the next loss do
  // nothing. Throw std::invalid_argument for fp16 gradients, or an optimizer that was not added.
  void unscale(const torch::optim::Optimizer& optimizer);
  void unscale_all();
  void unscale_owners(const std::vector<at::Tensor>& parameters);

  // Calls unscale(), and throws as it does. Returns true if all gradients are finite, so that the
  // optimizer may step.
  bool may_step(const torch::optim::Optimizer& optimizer);
  // Return true if the last may_step() of the optimizer, or of any optimizer, returned false.
  bool step_was_skipped(const torch::optim::Optimizer& optimizer) const;
  bool any_step_was_skipped() const;

  // Brings all gradients to the scale of state(), because a checkpoint saves the scale
  // and the gradients.
  void settle();

  // Returns the scale that all processes will share when the current round has ended.
  LossScaleState state() const;
  // Ends all rounds and sets the scale. Assumes that gradients have this scale.
  void set_state(const LossScaleState& state);

 private:
  struct Owned {
    std::weak_ptr<torch::optim::Optimizer> living;
    const torch::optim::Optimizer* optimizer;
    std::shared_ptr<const OptimizerGradients> gradients;
    // Since the last loss: gradients were unscaled, and some were not finite.
    bool unscaled = false;
    bool overflowed = false;
    // True if the last step was skipped.
    bool skipped = false;
  };
  Owned& of(const torch::optim::Optimizer& optimizer);
  void unscale(Owned& owned);
  void bring_gradients_to(float scale);
  // Returns the parameters whose gradients any optimizer has unscaled since the last loss.
  std::unordered_set<const void*> unscaled_parameters() const;
  ScaleRound& own();

  std::vector<Owned> optimizers_;
  std::function<bool(bool)> agree_;
  // The scale that all processes share.
  ScaleRound shared_;
  // This process's own scale. nullopt until it is first used after a change of shared_.
  std::optional<ScaleRound> own_;
  // The scale of the last loss.
  float scale_;
};

}  // namespace accel::runtime
