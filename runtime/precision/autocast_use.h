// Which parameters a loss has used only outside of autocast, as model->forward() does.
#pragma once

#include <vector>

namespace at {
class Tensor;
}
namespace c10 {
struct TensorImpl;
}

namespace accel {

// Around an AutocastScope of this thread. The operations in between are remembered; of very many
// regions the oldest become one, with all that lies between them.
void enter_autocast();
void leave_autocast();

// A leaf that the backward pass of a loss reaches, such as a parameter.
struct UsedLeaf {
  const c10::TensorImpl* leaf;
  // Whether an operation on it ran within an AutocastScope, in fp16 or bf16, or in another thread,
  // of which nothing is known.
  bool in_autocast;
};

// Each once. Walks the whole graph.
std::vector<UsedLeaf> leaves_behind(const at::Tensor& loss);

}  // namespace accel
