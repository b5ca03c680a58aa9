// Finds parameters that a loss uses only outside of autocast, as after model->forward(x). Each
// thread has its own state.
// Autocast leaves no mark in the graph. But LibTorch gives every operation of a thread a
// sequence number, and stores it in the operation's node of the graph. So each AutocastScope
// records the numbers at which it begins and ends. used_leaves() checks for each node whether
// its number is between them.
#pragma once

#include <vector>

namespace at {
class Tensor;
}
namespace c10 {
struct TensorImpl;
}

namespace accel::runtime {

// Begin and end the region of an AutocastScope in this thread. Up to 256 regions are kept. Beyond
// that, the two oldest are merged, and all operations between them count as inside.
void enter_autocast();
void leave_autocast();

// A leaf, such as a parameter, that the backward pass of a loss reaches.
struct UsedLeaf {
  const c10::TensorImpl* leaf;
  // True if an operation on the leaf ran inside an AutocastScope, in fp16 or bf16, or in another
  // thread, whose regions are not known here.
  bool in_autocast;
};

// Returns the leaves of the graph, each once. Walks the whole graph.
std::vector<UsedLeaf> used_leaves(const at::Tensor& loss);

}  // namespace accel::runtime
