#include "runtime/optim/optimizer_class.h"

#include "accel/optim.h"

namespace accel::runtime {

const std::type_info& class_of_state(const torch::optim::Optimizer& optimizer) {
  const std::type_info& kind = typeid(optimizer);
  if (kind == typeid(optim::Adam)) return typeid(torch::optim::Adam);
  if (kind == typeid(optim::AdamW)) return typeid(torch::optim::AdamW);
  if (kind == typeid(optim::SGD)) return typeid(torch::optim::SGD);
  return kind;
}

}  // namespace accel::runtime
