// The batches that accumulate() has begun and whose scopes still live.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/core/accumulation.h"
#include "runtime/step/gradient_sync_scope.h"

namespace torch::nn {
class Module;
}

namespace accel::runtime {

class OpenBatch {
 public:
  // `modules` are the models that accumulate() was given. backward() does not reduce the gradients
  // of the models in `local`.
  OpenBatch(std::shared_ptr<const Accumulation> accumulation,
            std::vector<std::shared_ptr<torch::nn::Module>> modules, Strategies local)
      : accumulation_(std::move(accumulation)),
        modules_(std::move(modules)),
        local_(std::in_place, GradientSync::kOffUntilWindowEnds, std::move(local)) {}

  const Accumulation* accumulation() const { return accumulation_.get(); }
  const std::vector<std::shared_ptr<torch::nn::Module>>& modules() const { return modules_; }

  // Makes backward() reduce the gradients of all models from now on.
  void reduce() { local_.reset(); }

 private:
  const std::shared_ptr<const Accumulation> accumulation_;
  const std::vector<std::shared_ptr<torch::nn::Module>> modules_;
  std::optional<GradientSyncScope> local_;
};

// The open batches of a process. Not thread-safe.
class OpenBatches {
 public:
  void add(const std::shared_ptr<OpenBatch>& batch) {
    std::erase_if(batches_, [](const auto& open) { return open.expired(); });
    batches_.push_back(batch);
  }
  // Each Accelerator has one Accumulation, which identifies it here. of() returns the open batches
  // of that Accelerator. of_others() returns those of all other Accelerators.
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

}  // namespace accel::runtime
