#include "weights/core/box.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace accel::weights {
namespace {

// Returns the number of elements between two neighbours in each dimension, in row-major order.
std::vector<std::uint64_t> strides(const Shape& sizes) {
  std::vector<std::uint64_t> out(sizes.size());
  std::uint64_t stride = 1;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    out[d] = stride;
    stride *= static_cast<std::uint64_t>(sizes[d]);
  }
  return out;
}

// Returns the position in `box` of the index at `offsets`.
std::uint64_t position(const Shape& offsets, const Box& box) {
  const std::vector<std::uint64_t> stride = strides(box.sizes);
  std::uint64_t at = 0;
  for (std::size_t d = 0; d < offsets.size(); ++d) {
    at += static_cast<std::uint64_t>(offsets[d] - box.offsets[d]) * stride[d];
  }
  return at;
}

// Returns the first dimension from which on `part` is consecutive in `box`, because it is whole in
// all later dimensions.
std::size_t first_consecutive(const Box& part, const Box& box) {
  std::size_t d = part.sizes.size();
  while (d > 0 && (d == part.sizes.size() || part.sizes[d] == box.sizes[d])) --d;
  return d;
}

// Returns the index of the element at `position` of a tensor.
Shape index_at(const Shape& shape, std::uint64_t position) {
  const std::vector<std::uint64_t> stride = strides(shape);
  Shape index(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    index[d] = static_cast<std::int64_t>(position / stride[d]);
    position %= stride[d];
  }
  return index;
}

// Returns the first index in row-major order that is in none of the boxes. The boxes are disjoint
// and do not have every element.
Shape first_missing(const Shape& shape, std::vector<Box> boxes) {
  Shape missing;
  std::uint64_t rest = elements(whole(shape));
  for (std::size_t d = 0; d < shape.size(); ++d) {
    rest /= static_cast<std::uint64_t>(shape[d]);
    // How many elements the boxes have at an index of this dimension changes only where one begins
    // or ends. A decrease wraps around, as unsigned numbers may.
    std::map<std::int64_t, std::uint64_t> changes{{0, 0}};
    for (const Box& box : boxes) {
      std::uint64_t each = 1;
      for (std::size_t later = d + 1; later < shape.size(); ++later) {
        each *= static_cast<std::uint64_t>(box.sizes[later]);
      }
      changes[box.offsets[d]] += each;
      changes[box.offsets[d] + box.sizes[d]] -= each;
    }
    std::uint64_t covered = 0;
    for (const auto& [index, change] : changes) {
      covered += change;
      if (covered == rest) continue;
      missing.push_back(index);
      break;
    }
    std::erase_if(boxes, [&](const Box& box) {
      return missing[d] < box.offsets[d] || missing[d] >= box.offsets[d] + box.sizes[d];
    });
  }
  return missing;
}

}  // namespace

Box whole(const Shape& shape) { return {.offsets = Shape(shape.size(), 0), .sizes = shape}; }

std::uint64_t elements(const Box& box) {
  std::uint64_t product = 1;
  for (const std::int64_t size : box.sizes) product *= static_cast<std::uint64_t>(size);
  return product;
}

bool fits(const Box& box, const Shape& shape, std::uint64_t element_bytes) {
  if (box.offsets.size() != shape.size() || box.sizes.size() != shape.size()) return false;
  std::int64_t product = static_cast<std::int64_t>(element_bytes);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 0 || box.offsets[d] < 0 || box.sizes[d] < 0) return false;
    if (box.offsets[d] > shape[d] || box.sizes[d] > shape[d] - box.offsets[d]) return false;
    // A dimension of 0 does not hide an overflow of the others.
    if (__builtin_mul_overflow(product, std::max<std::int64_t>(shape[d], 1), &product))
      return false;
  }
  return true;
}

std::optional<Box> intersection(const Box& left, const Box& right) {
  Box both;
  for (std::size_t d = 0; d < left.sizes.size(); ++d) {
    const std::int64_t begin = std::max(left.offsets[d], right.offsets[d]);
    const std::int64_t end =
        std::min(left.offsets[d] + left.sizes[d], right.offsets[d] + right.sizes[d]);
    if (begin >= end) return std::nullopt;
    both.offsets.push_back(begin);
    both.sizes.push_back(end - begin);
  }
  return both;
}

std::vector<Run> runs(const Box& part, const Box& from, const Box& to) {
  // Dimensions before `outer` are walked one index at a time, the others are one run.
  const std::size_t outer = std::max(first_consecutive(part, from), first_consecutive(part, to));
  Run run = {.from = position(part.offsets, from), .to = position(part.offsets, to), .length = 1};
  for (std::size_t d = outer; d < part.sizes.size(); ++d) {
    run.length *= static_cast<std::uint64_t>(part.sizes[d]);
  }
  std::uint64_t count = 1;
  for (std::size_t d = 0; d < outer; ++d) count *= static_cast<std::uint64_t>(part.sizes[d]);
  if (run.length == 0) count = 0;
  std::vector<Run> out;
  Shape at = part.offsets;
  for (std::uint64_t i = 0; i < count; ++i) {
    out.push_back({.from = position(at, from), .to = position(at, to), .length = run.length});
    for (std::size_t d = outer; d-- > 0;) {
      if (++at[d] < part.offsets[d] + part.sizes[d]) break;
      at[d] = part.offsets[d];
    }
  }
  return out;
}

std::vector<Box> boxes_of_range(const Shape& shape, std::uint64_t begin, std::uint64_t end) {
  const std::vector<std::uint64_t> stride = strides(shape);
  std::vector<Box> boxes;
  while (begin < end) {
    // The largest box that begins here has whole dimensions after d, and some indices of d.
    std::size_t d = 0;
    while (d + 1 < shape.size() && (begin % stride[d] != 0 || end - begin < stride[d])) ++d;
    Box box = {.offsets = index_at(shape, begin), .sizes = Shape(shape.size(), 1)};
    std::uint64_t length = 1;
    if (!shape.empty()) {
      const auto rest = static_cast<std::uint64_t>(shape[d] - box.offsets[d]);
      const std::uint64_t count = std::min(rest, (end - begin) / stride[d]);
      box.sizes[d] = static_cast<std::int64_t>(count);
      for (std::size_t later = d + 1; later < shape.size(); ++later) {
        box.sizes[later] = shape[later];
      }
      length = count * stride[d];
    }
    boxes.push_back(std::move(box));
    begin += length;
  }
  return boxes;
}

std::optional<std::string> fault_of_cover(const Shape& shape, std::vector<Box> boxes) {
  std::erase_if(boxes, [](const Box& box) { return elements(box) == 0; });
  std::sort(boxes.begin(), boxes.end(),
            [](const Box& left, const Box& right) { return left.offsets < right.offsets; });
  std::uint64_t covered = 0;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const std::int64_t rows_end = shape.empty() ? 1 : boxes[i].offsets[0] + boxes[i].sizes[0];
    // Boxes are sorted by their first row, so those that begin after the last row are disjoint.
    for (std::size_t j = i + 1; j < boxes.size(); ++j) {
      if (!shape.empty() && boxes[j].offsets[0] >= rows_end) break;
      if (const auto both = intersection(boxes[i], boxes[j])) {
        return "has element " + text_of(both->offsets) + " twice";
      }
    }
    covered += elements(boxes[i]);
  }
  if (covered == elements(whole(shape))) return std::nullopt;
  return "has no element " + text_of(first_missing(shape, std::move(boxes)));
}

std::string text_of(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  }
  return text + "]";
}

}  // namespace accel::weights
