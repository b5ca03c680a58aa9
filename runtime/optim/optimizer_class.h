#pragma once

#include <typeinfo>

namespace torch::optim {
class Optimizer;
}

namespace accel::runtime {

// Returns the class that the optimizer's state and archive are of: for the classes of accel/optim.h
// LibTorch's class of the same name, otherwise the optimizer's own class.
const std::type_info& class_of_state(const torch::optim::Optimizer& optimizer);

}  // namespace accel::runtime
