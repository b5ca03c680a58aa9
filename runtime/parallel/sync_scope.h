#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "runtime/parallel/strategy.h"

namespace accel {

enum class Sync {
  kPaused,   // Backward passes leave each process's own gradients in the models.
  kWaiting,  // The same in a batch of a window that is not its last: optimizers do not step.
  kForced,   // They reduce, whatever kPaused scopes there are.
};

// While it lives, it holds for these models. Null models are passed over; scopes of one model may
// overlap. It can be moved, so that a scope may depend on a condition:
//
//   accel::SyncScope scope;
//   if (!last_batch) scope = accelerator.no_sync(model);
class SyncScope {
 public:
  SyncScope() = default;  // Of no model.
  explicit SyncScope(std::vector<std::shared_ptr<ParallelStrategy>> models,
                     Sync sync = Sync::kPaused)
      : models_(std::move(models)), sync_(sync) {
    add(1);
  }
  ~SyncScope() { add(-1); }
  SyncScope(SyncScope&& other) noexcept
      : models_(std::exchange(other.models_, {})), sync_(other.sync_) {}
  // What this scope held for ends.
  SyncScope& operator=(SyncScope&& other) noexcept {
    SyncScope taken(std::move(other));
    std::swap(models_, taken.models_);
    std::swap(sync_, taken.sync_);
    return *this;
  }

 private:
  void add(int scopes) {
    for (const auto& model : models_) {
      if (model == nullptr) continue;
      switch (sync_) {
        case Sync::kPaused:
          model->add_pauses(scopes);
          break;
        case Sync::kWaiting:
          model->add_waits(scopes);
          break;
        case Sync::kForced:
          model->add_forced(scopes);
          break;
      }
    }
  }

  std::vector<std::shared_ptr<ParallelStrategy>> models_;
  Sync sync_ = Sync::kPaused;
};

}  // namespace accel
