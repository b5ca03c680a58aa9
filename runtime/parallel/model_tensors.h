#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "runtime/parallel/libtorch.h"

namespace accel {

// A parameter that requires a gradient.
struct TrainedParameter {
  std::string name;
  at::Tensor tensor;
  // The node that adds up its gradient, where every graph that it is part of ends.
  std::shared_ptr<torch::autograd::Node> accumulator;
  bool sparse = false;  // Its gradient is, which no tensor tells by itself.
};

// What a program has done to a model, each worse than the one before it.
enum class ModelChange {
  kNone,
  kFrozen,    // Parameters were frozen or unfrozen.
  kReplaced,  // Parameters or buffers were loaded, cast, moved, added or removed.
};

// All nodes of the graph behind `loss`.
std::unordered_set<const void*> nodes_behind(const at::Tensor& loss);

// The parameters and buffers of a module. A program may change them at any time, and nothing tells
// when it does: follow() looks. Not thread-safe.
class ModelTensors {
 public:
  explicit ModelTensors(std::shared_ptr<torch::nn::Module> module);

  // What has changed since the last call, or the constructor, and holds below from now on. About
  // 0.2 us per parameter.
  ModelChange follow();

  // Each once, also if the module has it under several names; in the order of its names.
  const std::vector<TrainedParameter>& trained() const { return trained_; }
  const std::vector<at::Tensor>& parameters() const { return parameters_; }
  const std::vector<at::Tensor>& buffers() const { return buffers_; }

  // Whether the graph behind `loss` ends in a parameter that requires a gradient.
  bool is_reached_from(const at::Tensor& loss) const;
  // The names of trained() in which it does not end.
  std::vector<std::string> not_reached_from(const at::Tensor& loss) const;

  // A line for each parameter and buffer, also for those that are the same tensor. Processes whose
  // lines are the same can reduce the gradients of this model; with a checksum of their values, the
  // parameters are the same as well, to all appearances.
  std::vector<std::string> describe(bool with_checksums) const;

  const std::shared_ptr<torch::nn::Module>& module() const { return module_; }

 private:
  // A parameter as the module names it, as it was when it was looked at last.
  struct Seen {
    const void* tensor;
    bool requires_grad;
    const torch::autograd::Node* accumulator;
  };
  void list();
  ModelChange change() const;

  const std::shared_ptr<torch::nn::Module> module_;
  std::vector<Seen> seen_parameters_;
  std::vector<const void*> seen_buffers_;
  std::vector<TrainedParameter> trained_;
  std::unordered_set<const void*> accumulators_;  // Of trained_.
  std::vector<at::Tensor> parameters_, buffers_;
};

}  // namespace accel
