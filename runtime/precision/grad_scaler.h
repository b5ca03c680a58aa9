// Loss scaling, as torch.amp.GradScaler: small fp16 gradients do not vanish, and a step whose
// gradients overflowed is skipped.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_set>
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

// The backward pass for which a loss is scaled.
struct ScaledPass {
  // Its gradients are never reduced: each process scales as its own overflows have it.
  bool is_own = false;
  // The batch of accumulate() that it belongs to, in which all optimizers have one scale.
  std::optional<std::uint64_t> batch = {};
};

// One for all optimizers of an Accelerator. Between two losses the gradients of every optimizer
// have the scale of the last one, or none if they were unscaled since: where the scale moves,
// gradients that are still to be used are brought to the new one.
//
// Steps on gradients that are reduced move the scale that all processes have; others move one of
// this process, for passes that are its own. Not thread-safe.
class GradScaler {
 public:
  explicit GradScaler(const LossScalingOptions& options);

  // `gradients` is null if they are always reduced.
  void add(const std::shared_ptr<torch::optim::Optimizer>& optimizer,
           std::shared_ptr<const OptimizerGradients> gradients = nullptr);
  // Forgets all optimizers; the scale stays.
  void clear() { optimizers_.clear(); }

  // `loss`, scaled. Moves the scale if a round has ended. Throws std::logic_error if there is no
  // optimizer that would unscale its gradients.
  at::Tensor scale(const at::Tensor& loss, const ScaledPass& pass);

  // Divides the gradients of an added optimizer, of all, or of those that own one of `parameters`
  // by their scale, in place; once after each loss. Throws std::invalid_argument for fp16
  // gradients.
  void unscale(const torch::optim::Optimizer& optimizer);
  void unscale_all();
  void unscale_owners(const std::vector<at::Tensor>& parameters);

  // unscale(), and whether all gradients are finite, so that the optimizer may step.
  bool may_step(const torch::optim::Optimizer& optimizer);
  // Whether it did not, when it was to step last.
  bool step_was_skipped(const torch::optim::Optimizer& optimizer) const;
  bool any_step_was_skipped() const;

  // Brings all gradients to the scale that state() has, as a checkpoint of them needs it.
  void settle();

  // Where the scale of all processes is once this round has ended.
  LossScaleState state() const;
  // Ends all rounds. Gradients are taken to have this scale.
  void set_state(const LossScaleState& state);

 private:
  struct Owned {
    std::weak_ptr<torch::optim::Optimizer> living;
    const torch::optim::Optimizer* optimizer;
    std::shared_ptr<const OptimizerGradients> gradients;
    // Since the last loss.
    bool unscaled = false;
    bool overflowed = false;
    // In the last step.
    bool skipped = false;
  };
  Owned& of(const torch::optim::Optimizer& optimizer);
  void unscale(Owned& owned);
  void bring_gradients_to(float scale);
  // Those whose gradients were unscaled since the last loss, by any of their optimizers.
  std::unordered_set<const void*> unscaled_parameters() const;
  ScaleRound& own();

  std::vector<Owned> optimizers_;
  ScaleRound shared_;
  std::optional<ScaleRound> own_;  // Where it has gone apart.
  float scale_;                    // Of the last loss.
};

}  // namespace accel::runtime
