#include "runtime/step/loss_checks.h"

#include <stdexcept>
#include <unordered_set>

#include "runtime/precision/autocast_use.h"
#include "runtime/step/libtorch.h"
#include "runtime/step/open_batches.h"

namespace accel::runtime {

void expect_own_batch(const at::Tensor& loss, const OpenBatches& batches,
                      const Accumulation& window) {
  if (!batches.of(window).empty()) return;
  std::unordered_set<const void*> others;
  for (const auto& batch : batches.of_others(window)) {
    for (const auto& module : batch->modules()) {
      for (const at::Tensor& parameter : module->parameters()) {
        others.insert(parameter.unsafeGetTensorImpl());
      }
    }
  }
  if (others.empty()) return;
  for (const UsedLeaf& used : used_leaves(loss)) {
    if (!others.contains(used.leaf)) continue;
    throw std::logic_error(
        "backward: the loss is of a model whose batch was begun by accumulate() of another "
        "Accelerator: call backward() of that one, or accumulate() of this one");
  }
}

void expect_autocast(const at::Tensor& loss,
                     const std::vector<std::shared_ptr<torch::nn::Module>>& models) {
  std::unordered_set<const void*> outside, inside;
  for (const UsedLeaf& used : used_leaves(loss)) {
    (used.in_autocast ? inside : outside).insert(used.leaf);
  }
  if (outside.empty()) return;
  for (const auto& module : models) {
    bool is_outside = false, is_inside = false;
    for (const at::Tensor& parameter : module->parameters()) {
      is_outside = is_outside || outside.contains(parameter.unsafeGetTensorImpl());
      is_inside = is_inside || inside.contains(parameter.unsafeGetTensorImpl());
    }
    if (!is_outside || is_inside) continue;
    throw std::logic_error(
        "backward: " + module->name() +
        " has run outside of autocast, in full precision: call the prepared model, model(x) "
        "instead of model->forward(x), or run it in a scope of accelerator.autocast()");
  }
}

}  // namespace accel::runtime
