// How the parameters of a unit lie in one flat buffer, and which part of it each rank holds. Pure.
//
// The tensors stand one behind the other, each at a multiple of kAlignment elements. The buffer is
// padded so that it can be cut into equal parts, one for each rank, without regard to where
// tensors begin or end:
//
// clang-format off
//   elements      0                       32    40    48    56    64
//   flat buffer   | weight . . . . . . . . . .  |/////| bias|/////|
//   2 ranks       | part 0                | part 1                |
//   rank 1 holds                          | [32, 40) of weight, all of bias, padding
// clang-format on
//
// So the output of an all-gather of the parts is the whole buffer. The input of a reduce-scatter is
// a buffer of gradients with this layout. Neither needs another copy. A small tensor costs nothing,
// and parts are equal whatever the shapes are (docs/decisions/0063).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace accel::runtime {

// The elements [begin, end).
struct ElementRange {
  std::int64_t begin = 0, end = 0;

  std::int64_t size() const { return end - begin; }
  bool operator==(const ElementRange&) const = default;
};

class FlatLayout {
 public:
  // A cache line of fp32. LibTorch aligns its own tensors alike, and the results of some kernels
  // depend on the alignment in the last bit.
  static constexpr std::int64_t kAlignment = 16;

  // Lays out tensors of these numbers of elements for `parts` ranks. Throws std::invalid_argument
  // for a negative number, for less than one part, or if the buffer would have more than 2^60
  // elements.
  FlatLayout(std::vector<std::int64_t> sizes, int parts);

  std::size_t tensors() const { return sizes_.size(); }
  int parts() const { return parts_; }
  // The number of elements of the buffer, padding included: parts() * part_size().
  std::int64_t size() const { return part_size_ * parts_; }
  std::int64_t part_size() const { return part_size_; }

  // The place of a whole tensor in the buffer.
  ElementRange place(std::size_t tensor) const;
  // The elements of the tensor that `part` holds, counted in the flattened tensor. If it holds
  // none, the range is empty and lies inside the tensor.
  ElementRange piece(std::size_t tensor, int part) const;
  // Where the piece begins, counted from the start of the part.
  std::int64_t piece_offset(std::size_t tensor, int part) const;

  // The ranges of the buffer that belong to no tensor, in ascending order.
  std::vector<ElementRange> gaps() const;

 private:
  std::vector<std::int64_t> sizes_, offsets_;
  const int parts_;
  std::int64_t part_size_ = 0;
};

}  // namespace accel::runtime
