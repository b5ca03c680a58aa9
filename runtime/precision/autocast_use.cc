#include "runtime/precision/autocast_use.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <iterator>

#include "runtime/precision/libtorch.h"

namespace accel::runtime {
namespace {

using torch::autograd::Node;

// The operations of one thread whose sequence numbers are in [first, end).
struct Region {
  std::uint64_t first, end;
};

constexpr std::size_t kRemembered = 256;
thread_local std::deque<Region> regions;  // Disjoint, in ascending order.
thread_local int open_scopes = 0;
thread_local std::uint64_t open_since = 0;  // First number of the outermost scope.

bool ran_in_autocast(const Node& node) {
  if (node.thread_id() != at::RecordFunction::currentThreadId()) return true;
  for (std::uint32_t i = 0; i < node.num_inputs(); ++i) {
    // A node's input in the backward pass is its operation's output in the forward pass.
    const auto& output = node.input_metadata(i);
    if (output.is_nested_tensor()) continue;
    const auto dtype = c10::typeMetaToScalarType(output.options().dtype());
    if (dtype == at::kHalf || dtype == at::kBFloat16) return true;
  }
  if (open_scopes > 0 && node.sequence_nr() >= open_since) return true;
  const auto after = std::upper_bound(
      regions.begin(), regions.end(), node.sequence_nr(),
      [](std::uint64_t number, const Region& region) { return number < region.first; });
  return after != regions.begin() && node.sequence_nr() < std::prev(after)->end;
}

const c10::TensorImpl* leaf_of(const Node* node) {
  // Only nodes that accumulate gradients have this number, so other nodes need no dynamic_cast.
  if (node->sequence_nr() != UINT64_MAX) return nullptr;
  const auto* accumulator = dynamic_cast<const torch::autograd::AccumulateGrad*>(node);
  return accumulator == nullptr ? nullptr : accumulator->variable.unsafeGetTensorImpl();
}

}  // namespace

void enter_autocast() {
  if (open_scopes++ == 0) open_since = at::sequence_number::peek();
}

void leave_autocast() {
  const std::uint64_t end = at::sequence_number::peek();
  if (--open_scopes > 0 || open_since == end) return;
  regions.push_back({open_since, end});
  if (regions.size() <= kRemembered) return;
  regions[1].first = regions[0].first;
  regions.pop_front();
}

std::vector<UsedLeaf> used_leaves(const at::Tensor& loss) {
  std::vector<UsedLeaf> leaves;
  ska::flat_hash_map<const c10::TensorImpl*, std::size_t> place_of;
  const auto use = [&](const c10::TensorImpl* leaf, bool in_autocast) {
    const auto [found, is_new] = place_of.emplace(leaf, leaves.size());
    if (is_new) leaves.push_back({leaf, false});
    leaves[found->second].in_autocast |= in_autocast;
  };
  ska::flat_hash_set<const Node*> seen;
  std::vector<const Node*> open;
  const auto root = torch::autograd::impl::gradient_edge(loss).function;
  if (root == nullptr) return leaves;
  if (const auto* leaf = leaf_of(root.get())) use(leaf, false);
  open.push_back(root.get());
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    for (const auto& edge : node->next_edges()) {
      const Node* next = edge.function.get();
      if (next == nullptr) continue;
      if (const auto* leaf = leaf_of(next)) {
        use(leaf, ran_in_autocast(*node));
      } else if (seen.insert(next).second) {
        open.push_back(next);
      }
    }
  }
  return leaves;
}

}  // namespace accel::runtime
