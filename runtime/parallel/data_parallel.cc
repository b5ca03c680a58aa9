#include "runtime/parallel/data_parallel.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/embedding.h>

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

#include "runtime/comm/communicator.h"
#include "runtime/parallel/comm_hook.h"

namespace accel {
namespace {

using torch::autograd::Node;

// Every node of the graph behind `root`, or those that were seen until the first for which `stop`
// is true.
template <typename Stop>
std::unordered_set<const Node*> nodes_behind(const at::Tensor& root, Stop&& stop) {
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> open;
  const auto visit = [&](const Node* node) {
    if (node != nullptr && seen.insert(node).second) open.push_back(node);
  };
  visit(torch::autograd::impl::gradient_edge(root).function.get());
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (stop(node)) break;
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

std::vector<at::Tensor> detached(std::vector<at::Tensor> tensors) {
  for (at::Tensor& tensor : tensors) tensor = tensor.detach();
  return tensors;
}

// Those whose gradients are sparse, which no tensor tells by itself.
std::unordered_set<const void*> with_sparse_gradients(const torch::nn::Module& module) {
  std::unordered_set<const void*> out;
  for (const auto& part : module.modules()) {
    const auto* embedding = part->as<torch::nn::EmbeddingImpl>();
    const auto* bag = part->as<torch::nn::EmbeddingBagImpl>();
    if (embedding != nullptr && embedding->options.sparse()) {
      out.insert(embedding->weight.unsafeGetTensorImpl());
    } else if (bag != nullptr && bag->options.sparse()) {
      out.insert(bag->weight.unsafeGetTensorImpl());
    }
  }
  return out;
}

class DataParallel final : public ParallelStrategy {
 public:
  DataParallel(std::shared_ptr<torch::nn::Module> module,
               std::shared_ptr<Communicator> communicator, const DataParallelOptions& options)
      : module_(std::move(module)), communicator_(std::move(communicator)), options_(options) {
    for (auto& [name, tensor] : distinct(module_->named_buffers())) buffers_.push_back(tensor);
    check_same_model();
    copy_from(0);
    follow_parameters();
  }

  const torch::nn::Module* module() const override { return module_.get(); }

  bool has_gradients() const { return reducer_ != nullptr; }

  bool reached_from(const at::Tensor& loss) override {
    follow_changes();
    bool reached = false;
    nodes_behind(loss, [&](const Node* node) { return reached = accumulators_.contains(node); });
    return reached;
  }

  void before_backward(const at::Tensor& loss) override { begin_pass({loss}); }

  void after_backward(const at::Tensor& loss) override {
    try {
      end_pass();
    } catch (const c10::Error&) {
      throw std::runtime_error(unused_parameters(loss));
    }
    release_views();
    if (broadcasts_buffers()) communicator_->enqueue_broadcast(detached(buffers_), leader_);
  }

  bool broadcasts_buffers() const override {
    return options_.broadcast_buffers && module_->is_training();
  }

  void set_leader(int rank) override { leader_ = rank; }

  // Through the same hooks, so that whatever the reducer does for a pass is done here too.
  void shadow_backward(bool broadcast_buffers) override {
    follow_changes();
    const at::AutoGradMode with_graph(true);
    std::vector<at::Tensor> kept, outputs, zeros;
    for (at::Tensor& parameter : parameters_) {
      // Gradients are the reducer's memory, which is about to be used.
      kept.push_back(parameter.grad().defined() ? parameter.grad().clone() : at::Tensor());
      parameter.mutable_grad() = at::Tensor();
      outputs.push_back(parameter.view_as(parameter));
      zeros.push_back(at::zeros_like(parameter));
    }
    begin_pass(outputs);
    torch::autograd::backward(outputs, zeros);
    end_pass();
    for (std::size_t i = 0; i < kept.size(); ++i) parameters_[i].mutable_grad() = kept[i];
    if (broadcast_buffers) communicator_->enqueue_broadcast(detached(buffers_), leader_);
  }

  void copy_from(int rank) override {
    std::vector<at::Tensor> state = buffers_;
    for (auto& [name, tensor] : distinct(module_->named_parameters())) state.push_back(tensor);
    communicator_->broadcast(detached(state), rank);
  }

 private:
  // With those parameters that require a gradient now, which a program may change on the way.
  void follow_parameters() {
    reducer_ = nullptr;
    followed_.clear();
    parameters_.clear();
    names_.clear();
    accumulators_.clear();
    for (auto& [name, tensor] : distinct(module_->named_parameters())) {
      followed_.emplace_back(tensor, tensor.requires_grad());
      if (!tensor.requires_grad()) continue;
      parameters_.push_back(tensor);
      names_.push_back(name);
      auto accumulator = torch::autograd::impl::grad_accumulator(tensor);
      accumulators_.emplace(accumulator.get(), accumulator);
    }
    if (!parameters_.empty()) reducer_ = make_reducer();
    // The reducer learns a static graph from the first pass that it sees at all.
    if (options_.static_graph && !std::exchange(learns_graph_, true)) add_forced(1);
  }

  void follow_changes() {
    const auto has_changed = [](const auto& one) {
      return one.first.requires_grad() != one.second;
    };
    if (std::any_of(followed_.begin(), followed_.end(), has_changed)) follow_parameters();
  }

  void begin_pass(const std::vector<at::Tensor>& outputs) {
    reducer_->rebuild_buckets();
    reducer_->prepare_for_backward(options_.find_unused_parameters ? outputs
                                                                   : std::vector<at::Tensor>());
  }

  void end_pass() {
    // The first pass over a static graph only counts how often each parameter is used.
    if (std::exchange(learns_graph_, false)) {
      add_forced(-1);
      reducer_->delay_all_reduce();
    }
    reducer_->check_finalized();
  }

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
    if (options_.bucket_cap_mb < 1) {
      throw std::invalid_argument("data_parallel.bucket_cap_mb = " +
                                  std::to_string(options_.bucket_cap_mb) + " should be at least 1");
    }
    const std::int64_t cap = std::int64_t{options_.bucket_cap_mb} << 20;
    const std::int64_t first = std::min<std::int64_t>(c10d::kDefaultFirstBucketBytes, cap);
    const auto sparse_ones = with_sparse_gradients(*module_);
    std::vector<bool> sparse;
    for (const at::Tensor& parameter : parameters_) {
      sparse.push_back(sparse_ones.contains(parameter.unsafeGetTensorImpl()));
    }
    auto [buckets, limits] = c10d::compute_bucket_assignment_by_size(
        parameters_, {static_cast<std::size_t>(first), static_cast<std::size_t>(cap)}, sparse);
    std::reverse(buckets.begin(), buckets.end());
    std::reverse(limits.begin(), limits.end());
    std::unordered_map<std::size_t, std::string> names;
    for (std::size_t i = 0; i < names_.size(); ++i) names[i] = names_[i];
    auto reducer = std::make_unique<c10d::Reducer>(
        parameters_, buckets, communicator_->process_group(), sparse, cap,
        options_.find_unused_parameters, options_.gradient_as_bucket_view, names, first,
        /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false,
        std::vector<std::int64_t>(limits.begin(), limits.end()));
    if (options_.static_graph) reducer->set_static_graph();
    if (auto hook = make_comm_hook(options_.comm_hook, *communicator_)) {
      reducer->register_comm_hook(std::move(hook));
    }
    return reducer;
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
    const auto reached = nodes_behind(loss, [](const Node*) { return false; });
    std::string names;
    std::size_t count = 0;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const auto accumulator = torch::autograd::impl::grad_accumulator(parameters_[i]);
      if (reached.contains(accumulator.get()) || ++count > kNamed) continue;
      names += (names.empty() ? "" : ", ") + names_[i];
    }
    if (count > kNamed) names += " and " + std::to_string(count - kNamed) + " more";
    return "rank " + std::to_string(communicator_->rank()) +
           ": the loss does not depend on these parameters of " + module_->name() + ": " + names +
           "; freeze them with requires_grad_(false), or set data_parallel.find_unused_parameters "
           "in AcceleratorOptions";
  }

  // The reducer refers to the communicator, and goes first.
  const std::shared_ptr<torch::nn::Module> module_;
  const std::shared_ptr<Communicator> communicator_;
  const DataParallelOptions options_;
  std::vector<std::pair<at::Tensor, bool>> followed_;  // All, and whether they required a gradient.
  std::vector<at::Tensor> parameters_;                 // Those that do.
  std::vector<std::string> names_;                     // Of parameters_.
  std::unordered_map<const Node*, std::shared_ptr<Node>> accumulators_;  // Of parameters_.
  std::vector<at::Tensor> buffers_;
  bool learns_graph_ = false;
  int leader_ = 0;
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
