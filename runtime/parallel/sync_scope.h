#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "runtime/parallel/strategy.h"

namespace accel {

// While it lives, backward passes leave each process's own gradients in these models. Null models
// are passed over; scopes of one model may overlap.
class SyncScope {
 public:
  explicit SyncScope(std::vector<std::shared_ptr<ParallelStrategy>> paused)
      : paused_(std::move(paused)) {
    for (const auto& model : paused_) {
      if (model != nullptr) model->pause();
    }
  }
  ~SyncScope() {
    for (const auto& model : paused_) {
      if (model != nullptr) model->resume();
    }
  }
  SyncScope(const SyncScope&) = delete;
  SyncScope& operator=(const SyncScope&) = delete;

 private:
  const std::vector<std::shared_ptr<ParallelStrategy>> paused_;
};

}  // namespace accel
