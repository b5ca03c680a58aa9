// Follows the parameters and buffers of a module that the program may change
// between backward passes.
#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "runtime/parallel/libtorch.h"

namespace accel::runtime {

// A parameter that requires a gradient.
struct TrainedParameter {
  std::string name;
  at::Tensor tensor;
  // The node that adds up its gradient. Every graph that contains the parameter ends in this node.
  std::shared_ptr<torch::autograd::Node> accumulator;
  // True if its gradient is sparse. Only the module has this information, not the tensor.
  bool sparse = false;
};

// The kind of change that a program has made to a model. Later values include earlier ones.
enum class ModelChange {
  kNone,
  kFrozen,    // Parameters were frozen or unfrozen.
  kReplaced,  // Parameters or buffers were loaded, cast, moved, added or removed.
};

// Returns all nodes of the graph behind `loss`.
std::unordered_set<const void*> nodes_behind(const at::Tensor& loss);

// The parameters and buffers of a module. A program may change them at any time, and LibTorch does
// not report this, so follow() compares them. Not thread-safe.
class ModelTensors {
 public:
  explicit ModelTensors(std::shared_ptr<torch::nn::Module> module);

  // Returns what has changed since the last call or the constructor, and updates the lists below.
  // Takes about 0.2 us per parameter.
  ModelChange follow();

  // Return each tensor once, even if the module has it under several names, in the order
  // of the names.
  const std::vector<TrainedParameter>& trained() const { return trained_; }
  const std::vector<at::Tensor>& parameters() const { return parameters_; }
  const std::vector<at::Tensor>& buffers() const { return buffers_; }

  // Returns true if the graph behind `loss` ends in a parameter that requires a gradient.
  bool is_reached_from(const at::Tensor& loss) const;
  // Returns the names of the trained() parameters in which the graph behind `loss` does not end.
  std::vector<std::string> not_reached_from(const at::Tensor& loss) const;

  // Returns a line for each parameter and buffer by name, including names of the same tensor. If
  // the lines of two processes are equal, they can reduce the gradients of this model together. If
  // the lines are equal with checksums, the values of the parameters are very likely equal as well.
  std::vector<std::string> describe(bool with_checksums) const;

  const std::shared_ptr<torch::nn::Module>& module() const { return module_; }

 private:
  // A parameter at the last comparison, by its position among the module's names.
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
  std::unordered_set<const void*> accumulators_;  // Those in trained_.
  std::vector<at::Tensor> parameters_, buffers_;
};

}  // namespace accel::runtime
