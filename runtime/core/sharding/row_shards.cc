#include "runtime/core/sharding/row_shards.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

namespace accel::runtime {
namespace {

weights::Shape difference(const weights::Shape& left, const weights::Shape& right) {
  weights::Shape out = left;
  for (std::size_t d = 0; d < out.size(); ++d) out[d] -= right[d];
  return out;
}

std::int64_t count(const weights::Shape& shape) {
  return static_cast<std::int64_t>(weights::elements(weights::whole(shape)));
}

}  // namespace

RowShard row_shard(const weights::Shape& shape, int ranks, int rank, int dim) {
  const int dims = static_cast<int>(shape.size());
  const int at = dim < 0 ? dim + dims : dim;
  if (at < 0 || at >= dims) {
    throw std::invalid_argument("a tensor of shape " + weights::text_of(shape) +
                                " has no dimension " + std::to_string(dim) + " to cut");
  }
  if (ranks < 1 || rank < 0 || rank >= ranks) {
    throw std::invalid_argument("there is no rank " + std::to_string(rank) + " of " +
                                std::to_string(ranks));
  }
  const auto d = static_cast<std::size_t>(at);
  if (at > 0 && shape[d] % ranks != 0) {
    throw std::invalid_argument("dimension " + std::to_string(at) + " of shape " +
                                weights::text_of(shape) + " does not divide by " +
                                std::to_string(ranks) + " ranks");
  }
  const std::int64_t rows = (shape[d] + ranks - 1) / ranks;
  RowShard shard = {.box = weights::whole(shape), .padded = shape};
  shard.box.offsets[d] = std::min(rank * rows, shape[d]);
  shard.box.sizes[d] = std::min(rows, shape[d] - shard.box.offsets[d]);
  shard.padded[d] = rows;
  return shard;
}

RowGroup row_group(const std::vector<weights::Shape>& shapes, int ranks) {
  RowGroup group;
  for (const weights::Shape& shape : shapes) {
    group.splits.push_back(count(row_shard(shape, ranks, 0).padded));
    group.shard += group.splits.back();
    group.padding -= count(shape);
  }
  group.whole = group.shard * ranks;
  group.padding += group.whole;
  return group;
}

std::vector<RowRead> row_reads(const weights::Shape& shape, int saved_ranks, int ranks, int rank) {
  // A scalar is not cut. One rank saves it, and all read it.
  if (shape.empty()) return {{.saved = 0}};
  const weights::Box mine = row_shard(shape, ranks, rank).box;
  std::vector<RowRead> reads;
  for (int saved = 0; saved < saved_ranks; ++saved) {
    const weights::Box theirs = row_shard(shape, saved_ranks, saved).box;
    const std::optional<weights::Box> both = weights::intersection(mine, theirs);
    if (!both) continue;
    reads.push_back({.saved = saved,
                     .from = difference(both->offsets, theirs.offsets),
                     .to = difference(both->offsets, mine.offsets),
                     .sizes = both->sizes});
  }
  return reads;
}

}  // namespace accel::runtime
