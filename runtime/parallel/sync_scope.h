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
// overlap.
class SyncScope {
 public:
  explicit SyncScope(std::vector<std::shared_ptr<ParallelStrategy>> models,
                     Sync sync = Sync::kPaused)
      : models_(std::move(models)), sync_(sync) {
    add(1);
  }
  ~SyncScope() { add(-1); }
  SyncScope(const SyncScope&) = delete;
  SyncScope& operator=(const SyncScope&) = delete;

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

  const std::vector<std::shared_ptr<ParallelStrategy>> models_;
  const Sync sync_;
};

}  // namespace accel
