#pragma once

#include <typeinfo>

namespace torch::optim {
class Optimizer;
}

namespace accel::runtime {

// Returns the class of the optimizer's state and archive. For the classes of accel/optim.h it is
// LibTorch's class of the same name, otherwise the optimizer's own class.
const std::type_info& class_of_state(const torch::optim::Optimizer& optimizer);

// Returns true if the class is exactly one of LibTorch's Adam, AdamW, SGD, Adagrad and RMSprop, or
// of accel/optim.h. A class that is derived from one of them may have further tensors, in its state
// or outside of it.
bool has_known_state(const torch::optim::Optimizer& optimizer);

}  // namespace accel::runtime
