// A call whose activations are computed again in the backward pass (docs/decisions/0074).
//
// The problem. A call must not keep its activations, but the graph of the loss must show which
// parameters the call uses. Data parallel training looks there for parameters that a pass will not
// reach. LibTorch's Python has two ways, and neither serves. The first runs the function without a
// graph, and starts a second backward pass inside of the first one. The graph of the loss then does
// not contain the parameters. The second way replaces the tensors that autograd saves, by hooks
// that C++ does not have.
//
// The approach. The first call records its graph, finds the parameters at the ends of this
// graph, and drops it. One node stands for the call in the graph of the loss. The node has edges
// to the inputs of the call and to these parameters. In the backward pass the node makes the
// call again, and takes the gradients at the ends of the new graph. The gradients leave the node
// as those of any operator do. So code that waits for the gradient of a parameter sees it once
// and at the usual place.
#include "runtime/recompute/recomputed_call.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "runtime/recompute/libtorch.h"
#include "runtime/recompute/saved_input.h"
#include "runtime/recompute/surroundings.h"

namespace accel::runtime {
namespace {

using torch::autograd::AccumulateGrad;
using torch::autograd::Edge;
using torch::autograd::Node;
using torch::autograd::variable_list;

std::atomic<std::uint64_t> calls = 0;

// Returns copies without a graph, at which a new graph can begin.
std::vector<at::Tensor> detached(const std::vector<at::Tensor>& inputs) {
  std::vector<at::Tensor> copies;
  for (const at::Tensor& input : inputs) {
    copies.push_back(input.defined() ? input.detach().requires_grad_(input.requires_grad())
                                     : at::Tensor());
  }
  return copies;
}

bool shares_memory(const at::Tensor& tensor, const std::vector<at::Tensor>& others) {
  return std::ranges::any_of(others, [&](const at::Tensor& other) {
    return other.defined() && other.has_storage() && tensor.has_storage() &&
           other.is_alias_of(tensor);
  });
}

// The graph that one call has recorded.
class Graph {
 public:
  // Walks the graph from `outputs`. Throws std::invalid_argument if an operator was recorded before
  // `begin`, a sequence number of this thread.
  Graph(const std::vector<at::Tensor>& outputs, std::uint64_t begin) {
    for (const at::Tensor& output : outputs) {
      if (!output.defined() || !output.requires_grad()) continue;
      roots_.push_back(torch::autograd::impl::gradient_edge(output));
      visit(roots_.back().function.get(), begin);
    }
    while (!open_.empty()) {
      Node* const node = open_.back();
      open_.pop_back();
      for (const Edge& edge : node->next_edges()) visit(edge.function.get(), begin);
    }
  }

  // The edges of the outputs that require a gradient, one for each. They keep the graph alive,
  // because the end of the graph at an output that no operator made is kept alive by its edge only.
  const std::vector<Edge>& roots() const { return roots_; }
  // The tensors at the ends of the graph, each once, in the order of the walk.
  const std::vector<AccumulateGrad*>& leaves() const { return leaves_; }
  const std::vector<Node*>& operators() const { return operators_; }

 private:
  void visit(Node* node, std::uint64_t begin) {
    if (node == nullptr || !seen_.insert(node).second) return;
    if (auto* const leaf = dynamic_cast<AccumulateGrad*>(node)) {
      leaves_.push_back(leaf);
      return;
    }
    if (node->sequence_nr() < begin) {
      throw std::invalid_argument(
          "accel::checkpoint: the function uses a tensor that " + node->name() +
          " computed before the call and that requires a gradient: pass it as an argument of the "
          "function, or detach it");
    }
    operators_.push_back(node);
    open_.push_back(node);
  }

  std::vector<Edge> roots_;
  std::vector<AccumulateGrad*> leaves_;
  std::vector<Node*> operators_, open_;
  std::unordered_set<Node*> seen_;
};

// A node that takes the gradient of a leaf, in place of the leaf. Hooks of the leaf do not run
// here, because they run where the gradient is given on.
class TakeGradient final : public Node {
 public:
  explicit TakeGradient(const at::Tensor& leaf) { add_input_metadata(leaf); }
  variable_list apply(variable_list&& gradients) override {
    taken = std::move(gradients[0]);
    return {};
  }
  std::string name() const override { return "TakeGradient"; }

  at::Tensor taken;
};

struct OutputShape {
  bool requires_grad = false;
  std::vector<std::int64_t> sizes;
  at::ScalarType dtype = at::kFloat;

  bool operator==(const OutputShape&) const = default;
};

std::vector<OutputShape> shapes_of(const std::vector<at::Tensor>& outputs) {
  std::vector<OutputShape> shapes;
  for (const at::Tensor& output : outputs) {
    OutputShape& shape = shapes.emplace_back();
    if (!output.defined()) continue;
    shape = {output.requires_grad(), output.sizes().vec(), output.scalar_type()};
  }
  return shapes;
}

class RecomputedCall final : public Node {
 public:
  // `saved` are the inputs as they were before the first call.
  RecomputedCall(RecomputedFunction function, const std::vector<at::Tensor>& inputs,
                 std::vector<SavedInput> saved, Surroundings surroundings,
                 std::vector<at::Tensor> parameters, std::vector<OutputShape> shapes)
      : function_(std::move(function)),
        surroundings_(std::move(surroundings)),
        inputs_(std::move(saved)),
        parameters_(std::move(parameters)),
        shapes_(std::move(shapes)) {
    torch::autograd::edge_list edges;
    for (const at::Tensor& input : inputs) {
      requires_grad_.push_back(input.defined() && input.requires_grad());
      edges.push_back(requires_grad_.back() ? torch::autograd::impl::gradient_edge(input) : Edge());
    }
    for (const at::Tensor& parameter : parameters_) {
      edges.push_back(torch::autograd::impl::gradient_edge(parameter));
    }
    set_next_edges(std::move(edges));
  }

  variable_list apply(variable_list&& gradients) override {
    if (at::GradMode::is_enabled()) {
      throw std::logic_error(
          "accel::checkpoint: gradients of gradients (create_graph) cannot pass a checkpoint");
    }
    const std::lock_guard lock(mutex_);
    if (!function_) {
      throw std::logic_error(
          "accel::checkpoint: backward() has passed this part before; keep the graph with "
          "retain_graph if it is needed twice");
    }
    ++calls;
    const std::vector<at::Tensor> inputs = detached(unpacked());
    const std::uint64_t begin = at::sequence_number::peek();
    std::vector<at::Tensor> outputs;
    {
      const at::AutoGradMode records(true);
      const NoCastCache no_cache;
      const RepeatedSurroundings repeated(surroundings_, inputs);
      outputs = function_(inputs);
    }
    if (shapes_of(outputs) != shapes_) {
      throw std::runtime_error(
          "accel::checkpoint: the function returned tensors of another number, shape or type when "
          "it was called again: it must compute the same each time");
    }
    return take_gradients(inputs, outputs, gradients, begin);
  }

  void release_variables() override {
    const std::lock_guard lock(mutex_);
    function_ = nullptr;
    for (SavedInput& input : inputs_) input.reset();
  }

  std::string name() const override { return "RecomputedCall"; }

 private:
  std::vector<at::Tensor> unpacked() {
    std::vector<at::Tensor> inputs;
    for (const SavedInput& input : inputs_) inputs.push_back(input.unpack());
    return inputs;
  }

  variable_list take_gradients(const std::vector<at::Tensor>& inputs,
                               const std::vector<at::Tensor>& outputs, variable_list& gradients,
                               std::uint64_t begin) {
    const Graph graph(outputs, begin);
    std::unordered_map<Node*, std::shared_ptr<TakeGradient>> takers;
    std::unordered_map<c10::TensorImpl*, std::shared_ptr<TakeGradient>> by_leaf;
    for (AccumulateGrad* const leaf : graph.leaves()) {
      auto taker = std::make_shared<TakeGradient>(leaf->variable);
      by_leaf.emplace(leaf->variable.unsafeGetTensorImpl(), taker);
      takers.emplace(leaf, std::move(taker));
    }
    torch::autograd::edge_list roots;
    variable_list root_gradients;
    for (std::size_t i = 0; i < graph.roots().size(); ++i) {
      if (!gradients.at(i).defined()) continue;
      const auto found = takers.find(graph.roots()[i].function.get());
      roots.push_back(found == takers.end() ? graph.roots()[i] : Edge(found->second, 0));
      root_gradients.push_back(std::move(gradients[i]));
    }
    for (Node* const node : graph.operators()) {
      for (std::size_t i = 0; i < node->num_outputs(); ++i) {
        const auto found = takers.find(node->next_edge(i).function.get());
        if (found == takers.end()) continue;
        // set_next_edge() cannot be used, because it refuses nodes that have incoming edges. It
        // protects the order of the graph, which an edge from one end to another does not change.
        const_cast<Edge&>(node->next_edge(i)) = Edge(found->second, 0);
      }
    }
    if (!roots.empty()) {
      torch::autograd::Engine::get_default_engine().execute(
          roots, root_gradients, /*keep_graph=*/false, /*create_graph=*/false,
          /*accumulate_grad=*/true);
    }
    variable_list results;
    const auto give = [&](const at::Tensor& leaf, bool wanted) {
      const auto found = wanted ? by_leaf.find(leaf.unsafeGetTensorImpl()) : by_leaf.end();
      results.push_back(found == by_leaf.end() ? at::Tensor() : std::move(found->second->taken));
    };
    for (std::size_t i = 0; i < inputs.size(); ++i) give(inputs[i], requires_grad_[i]);
    for (const at::Tensor& parameter : parameters_) give(parameter, true);
    return results;
  }

  std::mutex mutex_;  // Backward passes of several threads may run one node.
  RecomputedFunction function_;
  const Surroundings surroundings_;
  std::vector<SavedInput> inputs_;
  std::vector<bool> requires_grad_;  // By input.
  const std::vector<at::Tensor> parameters_;
  const std::vector<OutputShape> shapes_;
};

}  // namespace

std::vector<at::Tensor> call_and_recompute(RecomputedFunction function,
                                           std::vector<at::Tensor> inputs) {
  if (!at::GradMode::is_enabled()) return function(inputs);
  Surroundings surroundings(inputs);
  std::vector<SavedInput> saved;
  for (const at::Tensor& input : inputs) saved.emplace_back(input);
  const std::vector<at::Tensor> arguments = detached(inputs);
  const std::uint64_t begin = at::sequence_number::peek();
  std::vector<at::Tensor> outputs;
  {
    const NoCastCache no_cache;
    outputs = function(arguments);
  }
  std::vector<at::Tensor> parameters;
  {
    std::unordered_set<c10::TensorImpl*> own;
    for (const at::Tensor& argument : arguments) own.insert(argument.unsafeGetTensorImpl());
    const Graph graph(outputs, begin);
    for (AccumulateGrad* const leaf : graph.leaves()) {
      if (!own.contains(leaf->variable.unsafeGetTensorImpl())) parameters.push_back(leaf->variable);
    }
  }
  const std::vector<OutputShape> shapes = shapes_of(outputs);
  for (at::Tensor& output : outputs) {
    if (!output.defined()) continue;
    // A result that shares memory with an argument also shares its counter of changes, so that
    // autograd finds a later change in place. Other results start their own counter.
    output = shares_memory(output, arguments) ? output.detach() : output.variable_data();
  }
  bool is_recorded = false;
  for (const OutputShape& shape : shapes) is_recorded |= shape.requires_grad;
  if (!is_recorded) return outputs;
  // deleteNode() frees a long chain of nodes without recursion.
  const std::shared_ptr<RecomputedCall> node(
      new RecomputedCall(std::move(function), inputs, std::move(saved), std::move(surroundings),
                         std::move(parameters), shapes),
      torch::autograd::deleteNode);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (shapes[i].requires_grad) torch::autograd::set_history(outputs[i], node);
  }
  return outputs;
}

std::uint64_t recomputed_calls() { return calls; }

}  // namespace accel::runtime
