#include "runtime/comm/ring_chunks.h"

#include <algorithm>

namespace accel::runtime {
namespace {

// Gloo pipelines each chunk in segments of at most this size (gloo/allreduce.h), and has at least
// two segments per chunk.
constexpr std::size_t kMaxSegmentBytes = 1024 * 1024;

std::size_t divide_up(std::size_t value, std::size_t by) { return (value + by - 1) / by; }

}  // namespace

std::size_t ring_chunk_elements(std::size_t elements, std::size_t element_size, int world_size) {
  const auto ranks = static_cast<std::size_t>(world_size);
  const std::size_t bytes = elements * element_size;
  const std::size_t max_segment =
      element_size * std::max<std::size_t>(1, kMaxSegmentBytes / element_size);
  const std::size_t at_least = std::max(divide_up(bytes, max_segment), 2 * ranks);
  const std::size_t segments_per_rank = divide_up(at_least, ranks);
  const std::size_t segment_elements =
      divide_up(divide_up(bytes, segments_per_rank * ranks), element_size);
  return segments_per_rank * segment_elements;
}

}  // namespace accel::runtime
