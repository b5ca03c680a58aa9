// Detects ranks that have trained apart, regardless of the cause (docs/decisions/0029).
#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "accel/options.h"
#include "runtime/core/parameter_digest.h"
#include "runtime/parallel/strategy.h"

namespace accel::runtime {

class Communicator;

// Computes digest_of() of the tensor's elements, in their order, on its device. Returns a 0-dim
// tensor on that device.
at::Tensor digest_on_device(const at::Tensor& tensor);

// A comparison of the parameters of prepared models, and of parameters that only prepared
// optimizers have. Skips a model in no_sync() or LocalSgd, because its ranks may train apart on
// purpose, and a sharded model, because its ranks hold different parts.
//
// compare() is collective: one all-gather of a number. If the ranks differ, it makes a few more
// collective calls and throws ParametersDiffer on all ranks. It reads each parameter once, and
// blocks until a GPU has the result. Not thread-safe.
class ParameterCheck {
 public:
  // If `debug`, every options.every_steps-th pass compares too. Throws std::invalid_argument if
  // that number is negative.
  ParameterCheck(const ParameterCheckOptions& options, bool debug);

  // Add prepared objects, in the same order on all ranks. `strategy` may be null.
  void add_model(std::shared_ptr<torch::nn::Module> module,
                 const std::shared_ptr<ParallelStrategy>& strategy);
  void add_optimizer(std::shared_ptr<torch::optim::Optimizer> optimizer);
  // Forgets all models and optimizers.
  void clear();

  // begin_pass() and begin_save() call compare() if a comparison is due. Call begin_pass() before
  // each backward pass that reduces gradients, and begin_save() in each save.
  void begin_pass(Communicator& communicator);
  // Counts a pass that has succeeded. Failed passes do not count. If a pass fails on this rank
  // alone and is repeated, it is one pass for the other ranks.
  void end_pass() { ++passes_; }
  void begin_save(Communicator& communicator) const;

  void compare(Communicator& communicator) const;

 private:
  struct Model {
    std::shared_ptr<torch::nn::Module> module;
    std::weak_ptr<ParallelStrategy> strategy;
  };
  struct Parameter {
    std::string text;
    at::Tensor tensor;
  };
  std::vector<Parameter> parameters() const;
  std::vector<ParameterDigest> digests() const;

  const ParameterCheckOptions options_;
  const bool debug_;
  std::vector<Model> models_;
  std::vector<std::shared_ptr<torch::optim::Optimizer>> optimizers_;
  std::int64_t passes_ = 0;     // Passes that have ended.
  std::int64_t compared_ = -1;  // passes_ at the last comparison.
};

}  // namespace accel::runtime
