#include "runtime/parallel/initial_values.h"

#include <string>

#include "runtime/parallel/without_memory.h"

namespace accel::runtime {

std::vector<at::Tensor> tensors_of(const std::vector<UnitParameter>& parameters) {
  std::vector<at::Tensor> tensors;
  for (const UnitParameter& one : parameters) tensors.push_back(one.tensor);
  return tensors;
}

std::set<const void*> give_values(const std::vector<at::Tensor>& tensors, Communicator& world) {
  std::set<const void*> missing;
  if (tensors.empty()) return missing;
  std::string filled;  // By tensor, 1 if rank 0 has values.
  for (const at::Tensor& tensor : tensors) filled += has_memory(tensor) ? '1' : '0';
  filled = world.broadcast_bytes(filled, /*from=*/0);
  std::vector<at::Tensor> values;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (filled[i] == '0') {
      missing.insert(tensors[i].unsafeGetTensorImpl());
      continue;
    }
    if (!has_memory(tensors[i])) allocate(tensors[i]);
    values.push_back(tensors[i].variable_data());
  }
  world.broadcast(values);
  return missing;
}

std::set<const void*> give_whole_values(const std::vector<at::Tensor>& tensors,
                                        Communicator& world) {
  std::set<const void*> missing = give_values(tensors, world);
  for (const at::Tensor& tensor : tensors) {
    if (!has_memory(tensor)) allocate(tensor);
  }
  return missing;
}

}  // namespace accel::runtime
