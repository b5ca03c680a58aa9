// Which rank finishes which elements of an all-reduce, and in which order they are added: as Gloo's
// ring does it, so that results are equal bit for bit.
//
// The tensor is divided into one chunk per rank, of which the last ones may be short or empty. The
// chunk of rank c goes round the ring against the ranks' order and ends at c:
//
//   x[c] + (x[c+1] + (... + (x[c-2] + x[c-1])))        with ranks modulo the world size
#pragma once

#include <cstddef>

namespace accel {

// The length of every chunk but the last ones, in elements. `elements` and `element_size` are at
// least 1, `world_size` at least 2.
std::size_t ring_chunk_elements(std::size_t elements, std::size_t element_size, int world_size);

}  // namespace accel
