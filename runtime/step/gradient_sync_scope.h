#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "runtime/parallel/strategy.h"

namespace accel::runtime {

// Says what backward() does with the gradients of some models while it lives: see GradientSync.
// Null models are ignored; scopes of one model may overlap, and kForced wins. It can be moved, so
// that a scope may depend on a condition:
//
//   accel::GradientSyncScope scope;
//   if (!last_batch) scope = accelerator.no_sync(model);
class GradientSyncScope {
 public:
  // A scope of no models, which does nothing.
  GradientSyncScope() = default;
  GradientSyncScope(GradientSync sync, Strategies models)
      : sync_(sync), models_(std::move(models)) {
    count(1);
  }
  ~GradientSyncScope() { count(-1); }
  GradientSyncScope(GradientSyncScope&& other) noexcept
      : sync_(other.sync_), models_(std::exchange(other.models_, {})) {}
  // Ends what this scope held before.
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
