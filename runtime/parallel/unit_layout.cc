#include "runtime/parallel/unit_layout.h"

#include <map>
#include <utility>

namespace accel::runtime {

UnitLayout::UnitLayout(std::vector<UnitParameter> parameters, int parts, int part)
    : parameters_(std::move(parameters)), part_(part) {
  using Kind = std::pair<at::ScalarType, bool>;
  const auto kind_of = [](const UnitParameter& one) {
    return Kind(one.tensor.scalar_type(), one.tensor.requires_grad());
  };
  std::map<Kind, std::vector<std::int64_t>> sizes;
  for (const UnitParameter& one : parameters_) sizes[kind_of(one)].push_back(one.tensor.numel());
  std::map<Kind, Place> next;
  for (const auto& [kind, list] : sizes) {
    next[kind] = {.buffer = buffers_.size()};
    const auto options = parameters_.front().tensor.options().dtype(kind.first);
    buffers_.push_back({.flat = FlatLayout(list, parts), .options = options.requires_grad(false)});
  }
  for (const UnitParameter& one : parameters_) {
    Place& place = next[kind_of(one)];
    places_.push_back(place);
    ++place.tensor;
  }
}

bool UnitLayout::is_trained(std::size_t buffer) const {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (places_[i].buffer == buffer && tensor(i).requires_grad()) return true;
  }
  return false;
}

at::Tensor UnitLayout::whole_in(const at::Tensor& buffer, std::size_t i) const {
  return elements_of(buffer, flat(places_[i].buffer).place(places_[i].tensor));
}

at::Tensor UnitLayout::piece_in(const at::Tensor& part, std::size_t i) const {
  const auto [buffer, tensor] = places_[i];
  return part.narrow(0, flat(buffer).piece_offset(tensor, part_), held(i).size());
}

ElementRange UnitLayout::held(std::size_t i, int part) const {
  return flat(places_[i].buffer).piece(places_[i].tensor, part);
}

at::Tensor elements_of(const at::Tensor& flat, const ElementRange& range) {
  return flat.narrow(0, range.begin, range.size());
}

}  // namespace accel::runtime
