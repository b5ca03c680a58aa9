// The scope of one batch of gradient accumulation.
#pragma once

#include <memory>
#include <utility>

namespace accel::runtime {

class OpenBatch;

// The result of Accelerator::accumulate(). The batch ends when the scope is destroyed.
class AccumulationScope {
 public:
  explicit AccumulationScope(std::shared_ptr<OpenBatch> batch) : batch_(std::move(batch)) {}
  AccumulationScope(AccumulationScope&&) = default;
  AccumulationScope& operator=(AccumulationScope&&) = default;

 private:
  std::shared_ptr<OpenBatch> batch_;
};

}  // namespace accel::runtime
