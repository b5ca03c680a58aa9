// Parts of tensors: boxes of indices, and the runs of elements that two boxes have in common. With
// them, a checkpoint can be read by another number of ranks than the one that wrote it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace accel::weights {

using Shape = std::vector<std::int64_t>;

// The indices offsets[d] <= i[d] < offsets[d] + sizes[d] in each dimension d. Both lists are
// equally long. A box of a scalar has no dimensions and one element.
struct Box {
  Shape offsets;
  Shape sizes;

  friend bool operator==(const Box&, const Box&) = default;
};

// Returns the box of all indices of a tensor.
Box whole(const Shape& shape);

// Returns the number of elements. Does not check for overflow: boxes from files are checked first.
std::uint64_t elements(const Box& box);

// Returns true if the box has as many dimensions as `shape`, lies within it, and the product of
// `shape` and `element_bytes` does not overflow 63 bits.
bool fits(const Box& box, const Shape& shape, std::uint64_t element_bytes);

// Returns the indices that both boxes have, or nullopt if there are none. Both boxes have the same
// number of dimensions.
std::optional<Box> intersection(const Box& left, const Box& right);

// Consecutive elements, counted from the first element of each box in row-major order.
struct Run {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t length = 0;

  friend bool operator==(const Run&, const Run&) = default;
};

// Returns the runs by which the elements of `part` move from `from` to `to`, two boxes that contain
// it. The runs are as long as possible and ascend in `to`.
std::vector<Run> runs(const Box& part, const Box& from, const Box& to);

// Returns the boxes of the elements begin <= i < end of a tensor in row-major order, ascending.
// Each box is consecutive in the tensor. A range of a matrix gives at most three boxes: the rest of
// a row, whole rows, and the beginning of a row. Returns no boxes if begin == end. `end` must not
// exceed the number of elements.
std::vector<Box> boxes_of_range(const Shape& shape, std::uint64_t begin, std::uint64_t end);

// Returns nullopt if the boxes cover a tensor of this shape exactly. Otherwise returns a fault,
// such as "has no element [3, 0]" or "has element [3, 0] twice". Empty boxes do not count. The
// boxes must fit the shape. Takes time n log n for n boxes that are ranges of rows or of elements.
std::optional<std::string> fault_of_cover(const Shape& shape, std::vector<Box> boxes);

// Returns "[3, 0]".
std::string text_of(const Shape& shape);

}  // namespace accel::weights
