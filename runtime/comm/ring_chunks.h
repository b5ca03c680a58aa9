// The division of an all-reduce among the ranks, and the order of its additions. Both are those of
// Gloo's ring, because floating-point sums depend on the order and results must be equal to Gloo's
// bit for bit (docs/decisions/0017).
//
// The tensor is divided into one chunk per rank, of which the last ones may be short or empty. Rank
// c finishes chunk c. In Gloo's ring the chunk starts at rank c-1, travels against the order of the
// ranks, and ends at rank c. So its elements are, with ranks modulo the world size:
//
// clang-format off
//   x[c] + (x[c+1] + (... + (x[c-2] + x[c-1])))
//
//   for example, chunk 1 of 4 ranks:  x[1] + (x[2] + (x[3] + x[0]))
// clang-format on
#pragma once

#include <cstddef>

namespace accel::runtime {

// Returns the length of a full chunk, in elements. `elements` and `element_size` (in bytes) must be
// at least 1, and `world_size` at least 2.
std::size_t ring_chunk_elements(std::size_t elements, std::size_t element_size, int world_size);

}  // namespace accel::runtime
