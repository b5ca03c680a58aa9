#include "runtime/parallel/initial_values.h"

#include <map>
#include <string>
#include <utility>

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

void give_recorded_values(RecordedTensors recorded, std::set<const void*>& missing,
                          const std::vector<std::unique_ptr<ShardedUnit>>& units,
                          Communicator& world) {
  std::map<const void*, std::pair<ShardedUnit*, std::size_t>> places;
  for (const auto& unit : units) {
    for (std::size_t i = 0; i < unit->size(); ++i) {
      places[unit->parameter(i).tensor.unsafeGetTensorImpl()] = {unit.get(), i};
    }
  }
  const auto deliver = [&](const at::Tensor& tensor, const at::Tensor& value) {
    const auto place = places.find(tensor.unsafeGetTensorImpl());
    if (place == places.end()) {
      tensor.variable_data().copy_(value);
    } else {
      place->second.first->take_piece(place->second.second, value);
    }
  };
  for (const void* given : recorded.give(missing, world, deliver)) missing.erase(given);
}

}  // namespace accel::runtime
