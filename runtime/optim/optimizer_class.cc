#include "runtime/optim/optimizer_class.h"

#include <torch/optim/adagrad.h>
#include <torch/optim/rmsprop.h>

#include "accel/optim.h"

namespace accel::runtime {

const std::type_info& class_of_state(const torch::optim::Optimizer& optimizer) {
  const std::type_info& kind = typeid(optimizer);
  if (kind == typeid(optim::Adam)) return typeid(torch::optim::Adam);
  if (kind == typeid(optim::AdamW)) return typeid(torch::optim::AdamW);
  if (kind == typeid(optim::SGD)) return typeid(torch::optim::SGD);
  return kind;
}

bool has_known_state(const torch::optim::Optimizer& optimizer) {
  const std::type_info& kind = class_of_state(optimizer);
  return kind == typeid(torch::optim::Adam) || kind == typeid(torch::optim::AdamW) ||
         kind == typeid(torch::optim::SGD) || kind == typeid(torch::optim::Adagrad) ||
         kind == typeid(torch::optim::RMSprop);
}

}  // namespace accel::runtime
