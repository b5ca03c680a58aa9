// The scope behind Accelerator::no_sync(), trigger_sync_in_backward(), accumulate() and LocalSgd.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "runtime/parallel/strategy.h"

namespace accel::runtime {

// Determines what backward() does with the gradients of some models while the scope lives
// (GradientSync). Null models are ignored. Scopes of one model may overlap, and kForced wins. A
// scope can be moved, so it may depend on a condition:
//
//   accel::runtime::GradientSyncScope scope;
//   if (!last_batch) scope = accelerator.no_sync(model);
class GradientSyncScope {
 public:
  // Makes a scope of no models, which does nothing.
  GradientSyncScope() = default;
  GradientSyncScope(GradientSync sync, Strategies models)
      : sync_(sync), models_(std::move(models)) {
    count(1);
  }
  ~GradientSyncScope() { count(-1); }
  GradientSyncScope(GradientSyncScope&& other) noexcept
      : sync_(other.sync_), models_(std::exchange(other.models_, {})) {}
  // Ends the previous scope of this object.
  GradientSyncScope& operator=(GradientSyncScope&& other) noexcept {
    GradientSyncScope taken(std::move(other));
    std::swap(sync_, taken.sync_);
    std::swap(models_, taken.models_);
    return *this;
  }

 private:
  void count(int scopes) {
    for (const auto& model : models_) {
      if (model != nullptr) model->count_scopes(sync_, scopes);
    }
  }

  GradientSync sync_ = GradientSync::kOff;
  Strategies models_;
};

}  // namespace accel::runtime
