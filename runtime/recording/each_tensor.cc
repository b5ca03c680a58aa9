#include "runtime/recording/each_tensor.h"

#include <optional>

namespace accel::runtime {

c10::IValue with_each_tensor(const c10::IValue& value,
                             const std::function<at::Tensor(const at::Tensor&)>& visit) {
  if (value.isTensor()) return visit(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(visit(tensor));
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
      list.push_back(tensor ? std::optional(visit(*tensor)) : std::nullopt);
    }
    return list;
  }
  return value;
}

}  // namespace accel::runtime
