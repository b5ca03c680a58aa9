// Notices ranks that have trained apart, whatever the cause.
#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "accel/options.h"
#include "runtime/core/parameter_digest.h"
#include "runtime/parallel/strategy.h"

namespace accel {

class Communicator;

// The same as digest_of() the tensor's elements in their order, computed on its device: a number
// there.
at::Tensor digest_on_device(const at::Tensor& tensor);

// Compares the parameters of prepared models, and those of prepared optimizers that no such model
// has. Passes over a model that its ranks may be training apart on purpose: one in no_sync() or
// LocalSgd.
//
// compare() is a collective: one all-gather of a number, and a few more calls if the ranks differ,
// where it throws ParametersDiffer on all of them. It reads each parameter once, and on a GPU waits
// for it. Not thread-safe.
class ParameterCheck {
 public:
  // `debug`: also every options.every_steps. Throws std::invalid_argument if that is negative.
  ParameterCheck(const ParameterCheckOptions& options, bool debug);

  // What is prepared, in the same order on all ranks. `strategy` may be null.
  void add_model(std::shared_ptr<torch::nn::Module> module,
                 const std::shared_ptr<ParallelStrategy>& strategy);
  void add_optimizer(std::shared_ptr<torch::optim::Optimizer> optimizer);
  // Forgets them.
  void clear();

  // Before each backward pass that reduces gradients, and in each save: compare(), where it is due.
  void begin_pass(Communicator& communicator);
  // After a pass that has succeeded. One that fails on this rank alone and is made again is one
  // pass to the others.
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
  std::int64_t passes_ = 0;     // That have ended.
  std::int64_t compared_ = -1;  // Before which of them.
};

}  // namespace accel
