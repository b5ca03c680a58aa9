#pragma once

#include <typeinfo>

namespace torch::optim {
class Optimizer;
}

namespace accel::runtime {

// Returns the class that the optimizer's state and archive are of: for the classes of accel/optim.h
// LibTorch's class of the same name, otherwise the optimizer's own class.
const std::type_info& class_of_state(const torch::optim::Optimizer& optimizer);

// Returns true if the class is exactly one of LibTorch's Adam, AdamW, SGD, Adagrad and RMSprop, or
// of accel/optim.h. A class that is derived from one of them may have further tensors, in its state
// or outside of it.
bool has_known_state(const torch::optim::Optimizer& optimizer);

}  // namespace accel::runtime
