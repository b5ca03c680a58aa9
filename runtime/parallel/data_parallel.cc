#include "runtime/parallel/data_parallel.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace accel {
namespace {

using torch::autograd::Node;

// Every node of the graph behind `root`.
std::unordered_set<const Node*> nodes_behind(const at::Tensor& root) {
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> open;
  const auto visit = [&](const Node* node) {
    if (node != nullptr && seen.insert(node).second) open.push_back(node);
  };
  visit(torch::autograd::impl::gradient_edge(root).function.get());
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    for (const auto& edge : node->next_edges()) visit(edge.function.get());
  }
  return seen;
}

// A parameter that is registered twice is one parameter.
template <typename NamedTensors>
std::vector<std::pair<std::string, at::Tensor>> distinct(const NamedTensors& named) {
  std::vector<std::pair<std::string, at::Tensor>> out;
  std::unordered_set<const void*> seen;
  for (const auto& item : named) {
    const at::Tensor& tensor = item.value();
    if (tensor.defined() && seen.insert(tensor.unsafeGetTensorImpl()).second)
      out.emplace_back(item.key(), tensor);
  }
  return out;
}

class DataParallel final : public ParallelStrategy {
 public:
  DataParallel(std::shared_ptr<torch::nn::Module> module,
               std::shared_ptr<Communicator> communicator, const DataParallelOptions& options)
      : module_(std::move(module)), communicator_(std::move(communicator)), options_(options) {
    std::vector<at::Tensor> state;
    for (auto& [name, tensor] : distinct(module_->named_parameters())) {
      state.push_back(tensor.detach());
      if (!tensor.requires_grad()) continue;
      accumulators_.push_back(torch::autograd::impl::grad_accumulator(tensor));
      parameters_.push_back(tensor);
      names_.push_back(name);
    }
    for (auto& [name, tensor] : distinct(module_->named_buffers())) {
      buffers_.push_back(tensor.detach());
      state.push_back(buffers_.back());
    }
    check_same_model();
    communicator_->broadcast(state);
    if (!parameters_.empty()) reducer_ = make_reducer();
  }

  bool has_gradients() const { return reducer_ != nullptr; }

  bool reached_from(const at::Tensor& loss) const override {
    const auto reached = nodes_behind(loss);
    return std::any_of(accumulators_.begin(), accumulators_.end(),
                       [&](const auto& node) { return reached.contains(node.get()); });
  }

  void before_backward(const at::Tensor& loss) override {
    reducer_->rebuild_buckets();
    if (options_.find_unused_parameters) {
      reducer_->prepare_for_backward({loss});
    } else {
      reducer_->prepare_for_backward({});
    }
  }

  void after_backward(const at::Tensor& loss) override {
    try {
      reducer_->check_finalized();
    } catch (const c10::Error&) {
      throw std::runtime_error(unused_parameters(loss));
    }
    release_views();
    if (module_->is_training()) communicator_->broadcast(buffers_);
  }

 private:
  // A broadcast between models that differ would hang or mix them up.
  void check_same_model() {
    std::ostringstream text;
    for (const auto& tensors : {module_->named_parameters(), module_->named_buffers()}) {
      for (const auto& item : tensors) {
        text << item.key() << item.value().sizes() << item.value().dtype()
             << item.value().requires_grad() << ';';
      }
    }
    const auto mine = static_cast<std::int64_t>(std::hash<std::string>()(text.str()));
    const std::vector<std::int64_t> all = communicator_->all_gather_number(mine);
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
      if (all[rank] == all[0]) continue;
      throw std::invalid_argument("rank " + std::to_string(rank) +
                                  " prepares another model than rank 0: " + module_->name() +
                                  " differs in the name, shape or type of a parameter or buffer");
    }
  }

  // In the order in which gradients become ready, about the reverse of their registration. The
  // first bucket is small, so that communication starts early.
  std::unique_ptr<c10d::Reducer> make_reducer() const {
    const std::vector<bool> sparse(parameters_.size(), false);
    auto [buckets, limits] = c10d::compute_bucket_assignment_by_size(
        parameters_, {c10d::kDefaultFirstBucketBytes, c10d::kDefaultBucketBytesCap}, sparse);
    std::reverse(buckets.begin(), buckets.end());
    std::reverse(limits.begin(), limits.end());
    std::unordered_map<std::size_t, std::string> names;
    for (std::size_t i = 0; i < names_.size(); ++i) names[i] = names_[i];
    return std::make_unique<c10d::Reducer>(
        parameters_, buckets, communicator_->process_group(), sparse, c10d::kDefaultBucketBytesCap,
        options_.find_unused_parameters, /*gradient_as_bucket_view=*/true, names,
        c10d::kDefaultFirstBucketBytes,
        /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false,
        std::vector<std::int64_t>(limits.begin(), limits.end()));
  }

  // The gradients are views into the buckets, and LibTorch's zero_grad() refuses to detach a view
  // in place. Tensors of their own on the same memory spare the copy all the same.
  void release_views() {
    for (at::Tensor& parameter : parameters_) {
      at::Tensor& gradient = parameter.mutable_grad();
      if (gradient.defined()) gradient = gradient.detach();
    }
  }

  std::string unused_parameters(const at::Tensor& loss) const {
    constexpr std::size_t kNamed = 10;
    const auto reached = nodes_behind(loss);
    std::string names;
    std::size_t count = 0;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (reached.contains(accumulators_[i].get()) || ++count > kNamed) continue;
      names += (names.empty() ? "" : ", ") + names_[i];
    }
    if (count > kNamed) names += " and " + std::to_string(count - kNamed) + " more";
    return "rank " + std::to_string(communicator_->rank()) +
           ": the loss does not depend on these parameters of " + module_->name() + ": " + names +
           "; freeze them with requires_grad_(false), or set find_unused_parameters in "
           "AcceleratorOptions";
  }

  // The reducer refers to the communicator, and goes first.
  const std::shared_ptr<torch::nn::Module> module_;
  const std::shared_ptr<Communicator> communicator_;
  const DataParallelOptions options_;
  std::vector<at::Tensor> parameters_;  // Those that require a gradient.
  std::vector<std::string> names_;      // Of parameters_.
  std::vector<std::shared_ptr<Node>> accumulators_;
  std::vector<at::Tensor> buffers_;
  std::unique_ptr<c10d::Reducer> reducer_;
};

}  // namespace

std::shared_ptr<ParallelStrategy> make_data_parallel(std::shared_ptr<torch::nn::Module> module,
                                                     std::shared_ptr<Communicator> communicator,
                                                     const DataParallelOptions& options) {
  auto strategy =
      std::make_shared<DataParallel>(std::move(module), std::move(communicator), options);
  if (!strategy->has_gradients()) return nullptr;
  return strategy;
}

}  // namespace accel
