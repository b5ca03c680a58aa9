#include "runtime/parallel/model_tensors.h"

#include <algorithm>
#include <cstdint>
#include <sstream>

namespace accel::runtime {
namespace {

using torch::autograd::Node;
using torch::autograd::impl::grad_accumulator;
using torch::autograd::impl::try_get_grad_accumulator;

// Returns every node of the graph behind `root`, or the nodes seen up to the first one for which
// `stop` is true.
template <typename Stop>
std::unordered_set<const void*> nodes_until(const at::Tensor& root, Stop&& stop) {
  std::unordered_set<const void*> seen;
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

// Returns the sum of the values' bits, read as integers, so that a NaN counts like any other value.
at::Tensor sum_of_bits(const at::Tensor& tensor) {
  const auto of_size = [](std::size_t bytes) {
    return bytes == 1 ? at::kByte : bytes == 2 ? at::kShort : bytes == 4 ? at::kInt : at::kLong;
  };
  const at::Tensor values = tensor.detach().contiguous().view({-1});
  return values.view(of_size(values.element_size())).sum(at::kLong);
}

}  // namespace

std::unordered_set<const void*> nodes_behind(const at::Tensor& loss) {
  return nodes_until(loss, [](const Node*) { return false; });
}

ModelTensors::ModelTensors(std::shared_ptr<torch::nn::Module> module) : module_(std::move(module)) {
  list();
}

void ModelTensors::list() {
  seen_parameters_.clear();
  seen_buffers_.clear();
  trained_.clear();
  accumulators_.clear();
  parameters_.clear();
  buffers_.clear();
  const auto sparse = with_sparse_gradients(*module_);
  std::unordered_set<const void*> known;
  for (const auto& item : module_->named_parameters()) {
    const at::Tensor& tensor = item.value();
    const auto accumulator = tensor.requires_grad() ? grad_accumulator(tensor) : nullptr;
    const void* identity = tensor.unsafeGetTensorImpl();
    seen_parameters_.push_back({identity, tensor.requires_grad(), accumulator.get()});
    if (!known.insert(identity).second) continue;
    parameters_.push_back(tensor);
    if (accumulator == nullptr) continue;
    trained_.push_back({item.key(), tensor, accumulator, sparse.contains(identity)});
    accumulators_.insert(accumulator.get());
  }
  for (const auto& item : module_->named_buffers()) {
    const at::Tensor& tensor = item.value();
    seen_buffers_.push_back(tensor.unsafeGetTensorImpl());
    if (known.insert(tensor.unsafeGetTensorImpl()).second) buffers_.push_back(tensor);
  }
}

ModelChange ModelTensors::change() const {
  const auto parameters = module_->named_parameters();
  const auto buffers = module_->named_buffers();
  if (parameters.size() != seen_parameters_.size() || buffers.size() != seen_buffers_.size()) {
    return ModelChange::kReplaced;
  }
  for (std::size_t i = 0; i < seen_buffers_.size(); ++i) {
    if (buffers[i].value().unsafeGetTensorImpl() != seen_buffers_[i]) return ModelChange::kReplaced;
  }
  bool frozen = false;
  for (std::size_t i = 0; i < seen_parameters_.size(); ++i) {
    const Seen& seen = seen_parameters_[i];
    const at::Tensor& now = parameters[i].value();
    if (now.unsafeGetTensorImpl() != seen.tensor) return ModelChange::kReplaced;
    if (now.requires_grad() != seen.requires_grad) {
      frozen = true;
    } else if (now.requires_grad() && try_get_grad_accumulator(now).get() != seen.accumulator) {
      return ModelChange::kReplaced;
    }
  }
  return frozen ? ModelChange::kFrozen : ModelChange::kNone;
}

ModelChange ModelTensors::follow() {
  const ModelChange change = this->change();
  if (change != ModelChange::kNone) list();
  return change;
}

bool ModelTensors::is_reached_from(const at::Tensor& loss) const {
  bool reached = false;
  if (accumulators_.empty()) return reached;
  nodes_until(loss, [&](const Node* node) { return reached = accumulators_.contains(node); });
  return reached;
}

std::vector<std::string> ModelTensors::not_reached_from(const at::Tensor& loss) const {
  const auto reached = nodes_behind(loss);
  std::vector<std::string> names;
  for (const TrainedParameter& one : trained_) {
    if (!reached.contains(one.accumulator.get())) names.push_back(one.name);
  }
  return names;
}

std::vector<std::string> ModelTensors::describe(bool with_checksums) const {
  std::vector<std::string> lines;
  const auto add = [&](const char* kind, const auto& item) {
    std::ostringstream line;
    line << kind << item.key() << ' ' << item.value().sizes() << ' ' << item.value().dtype();
    lines.push_back(line.str());
  };
  const auto parameters = module_->named_parameters();
  for (const auto& item : parameters) {
    add("parameter ", item);
    if (!item.value().requires_grad()) lines.back() += " that requires no gradient";
  }
  if (with_checksums && !parameters.is_empty()) {
    // Reads all sums together, because each read waits for the device.
    std::vector<at::Tensor> sums;
    for (const auto& item : parameters) sums.push_back(sum_of_bits(item.value()));
    const at::Tensor all = at::stack(sums).cpu();
    for (std::size_t i = 0; i < sums.size(); ++i) {
      lines[i] += " with checksum " + std::to_string(all.const_data_ptr<std::int64_t>()[i]);
    }
  }
  for (const auto& item : module_->named_buffers()) add("buffer ", item);
  return lines;
}

}  // namespace accel::runtime
