#include "runtime/core/sharding/flat_layout.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace accel::runtime {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 60;

std::int64_t rounded_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

FlatLayout::FlatLayout(std::vector<std::int64_t> sizes, int parts)
    : sizes_(std::move(sizes)), parts_(parts) {
  if (parts < 1) {
    throw std::invalid_argument("a flat buffer cannot be cut into " + std::to_string(parts) +
                                " parts");
  }
  std::int64_t end = 0;
  for (const std::int64_t size : sizes_) {
    if (size < 0 || size > kMaxElements - end) {
      throw std::invalid_argument("a tensor of " + std::to_string(size) +
                                  " elements does not fit into a flat buffer");
    }
    offsets_.push_back(end);
    end = rounded_up(end + size, kAlignment);
  }
  part_size_ = rounded_up((end + parts - 1) / parts, kAlignment);
}

ElementRange FlatLayout::place(std::size_t tensor) const {
  return {offsets_.at(tensor), offsets_.at(tensor) + sizes_.at(tensor)};
}

ElementRange FlatLayout::piece(std::size_t tensor, int part) const {
  const std::int64_t size = sizes_.at(tensor), start = part * part_size_ - offsets_.at(tensor);
  return {std::clamp<std::int64_t>(start, 0, size),
          std::clamp<std::int64_t>(start + part_size_, 0, size)};
}

std::int64_t FlatLayout::piece_offset(std::size_t tensor, int part) const {
  const std::int64_t offset = offsets_.at(tensor) + piece(tensor, part).begin - part * part_size_;
  // The place of an empty piece may lie outside of the part.
  return std::clamp<std::int64_t>(offset, 0, part_size_);
}

std::vector<ElementRange> FlatLayout::gaps() const {
  std::vector<ElementRange> gaps;
  std::int64_t end = 0;
  for (std::size_t i = 0; i < tensors(); ++i) {
    if (offsets_[i] > end) gaps.push_back({end, offsets_[i]});
    end = offsets_[i] + sizes_[i];
  }
  if (size() > end) gaps.push_back({end, size()});
  return gaps;
}

}  // namespace accel::runtime
