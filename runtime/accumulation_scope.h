#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/core/accumulation.h"
#include "runtime/parallel/sync_scope.h"

namespace torch::nn {
class Module;
}

namespace accel {

// A batch that accumulate() has begun.
class OpenBatch {
 public:
  // `not_reduced`: those that backward() leaves this process's own gradients in.
  OpenBatch(std::shared_ptr<const Accumulation> accumulation,
            std::vector<std::shared_ptr<torch::nn::Module>> modules,
            std::vector<std::shared_ptr<ParallelStrategy>> not_reduced)
      : accumulation_(std::move(accumulation)), modules_(std::move(modules)) {
    pause_.emplace(std::move(not_reduced), Sync::kWaiting);
  }

  // Whose it is, and the models that were named.
  const Accumulation* accumulation() const { return accumulation_.get(); }
  const std::vector<std::shared_ptr<torch::nn::Module>>& modules() const { return modules_; }

  // From now on backward() reduces all.
  void reduce() { pause_.reset(); }

 private:
  const std::shared_ptr<const Accumulation> accumulation_;
  const std::vector<std::shared_ptr<torch::nn::Module>> modules_;
  std::optional<SyncScope> pause_;
};

// Those of a process. Not thread-safe.
class OpenBatches {
 public:
  void add(const std::shared_ptr<OpenBatch>& batch) {
    std::erase_if(batches_, [](const auto& open) { return open.expired(); });
    batches_.push_back(batch);
  }
  // Those of an Accelerator, and those of the others.
  std::vector<std::shared_ptr<OpenBatch>> of(const Accumulation& accumulation) const {
    return selected(accumulation, true);
  }
  std::vector<std::shared_ptr<OpenBatch>> of_others(const Accumulation& accumulation) const {
    return selected(accumulation, false);
  }

 private:
  std::vector<std::shared_ptr<OpenBatch>> selected(const Accumulation& accumulation,
                                                   bool own) const {
    std::vector<std::shared_ptr<OpenBatch>> out;
    for (const auto& living : batches_) {
      auto batch = living.lock();
      if (batch == nullptr || (batch->accumulation() == &accumulation) != own) continue;
      out.push_back(std::move(batch));
    }
    return out;
  }

  std::vector<std::weak_ptr<OpenBatch>> batches_;
};

// What Accelerator::accumulate() returns: the batch lasts as long as it lives.
class AccumulationScope {
 public:
  explicit AccumulationScope(std::shared_ptr<OpenBatch> batch) : batch_(std::move(batch)) {}
  AccumulationScope(AccumulationScope&&) = default;
  AccumulationScope& operator=(AccumulationScope&&) = default;

 private:
  std::shared_ptr<OpenBatch> batch_;
};

}  // namespace accel
