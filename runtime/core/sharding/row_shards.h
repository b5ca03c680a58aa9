// Shards of whole rows, as Python's fully_shard() cuts parameters. Rank r of n holds the rows from
// r * ceil(rows / n) on, so the last ranks may hold fewer rows or none. Only tests use this file,
// to write and read checkpoints of this layout. accel itself cuts the parameters of a unit, one
// after another, into equal parts (docs/decisions/0062). Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "weights/core/box.h"

namespace accel::runtime {

struct RowShard {
  weights::Box box;  // The rows of this rank. An empty shard begins at the end of the last row.
  weights::Shape padded;  // What a collective moves: as many rows as the first rank has.
};

// Returns the shard of `rank` among `ranks`, cut along dimension `dim` (negative: from the
// last). Throws std::invalid_argument if there is no such dimension, for example of a scalar,
// or if `rank` is not among the ranks. Also throws it if a dimension other than the first does
// not divide evenly.
RowShard row_shard(const weights::Shape& shape, int ranks, int rank, int dim = 0);

// The elements per rank that the collectives of a unit of several parameters move.
struct RowGroup {
  std::int64_t shard = 0;            // Input of the all-gather, output of the reduce-scatter.
  std::int64_t whole = 0;            // Output of the all-gather, input of the reduce-scatter.
  std::int64_t padding = 0;          // In `whole`.
  std::vector<std::int64_t> splits;  // The part of each parameter in `shard`.
};

RowGroup row_group(const std::vector<weights::Shape>& shapes, int ranks);

// A part of a saved shard that a rank reads.
struct RowRead {
  int saved = 0;        // The rank that saved it.
  weights::Shape from;  // In the saved shard.
  weights::Shape to;    // In the rank's own shard.
  weights::Shape sizes;
};

// Returns the parts that `rank` of `ranks` reads of a tensor that `saved_ranks` ranks saved,
// in ascending order.
std::vector<RowRead> row_reads(const weights::Shape& shape, int saved_ranks, int ranks, int rank);

}  // namespace accel::runtime
