// Finds parameters that a loss has used only outside of autocast, as model->forward() uses them.
//
// Autocast leaves no mark in the graph. But LibTorch gives every operation of a thread a sequence
// number, and the graph's nodes have these numbers. So each AutocastScope records the numbers at
// its begin and end, and leaves_behind() asks of each node in which region its number lies.
#pragma once

#include <vector>

namespace at {
class Tensor;
}
namespace c10 {
struct TensorImpl;
}

namespace accel::runtime {

// Begin and end the region of an AutocastScope in this thread. Up to 256 regions are remembered;
// then the two oldest are merged, together with all operations between them.
void enter_autocast();
void leave_autocast();

// A leaf that the backward pass of a loss reaches, such as a parameter.
struct UsedLeaf {
  const c10::TensorImpl* leaf;
  // Whether an operation on it ran inside an AutocastScope, ran in fp16 or bf16, or ran in another
  // thread, whose regions are not known here.
  bool in_autocast;
};

// Returns each leaf once. Walks the whole graph.
std::vector<UsedLeaf> leaves_behind(const at::Tensor& loss);

}  // namespace accel::runtime
