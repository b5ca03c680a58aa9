// How the processes of a job divide the work on one model. Pure.
//
// The processes form a table. The ranks of a row each hold one shard of the model's parameters, and
// together hold all shards. The rows are replicas of one another. Neighbouring ranks are in one
// row, because they are on one host most often, and shards are exchanged more often than gradients:
//
// clang-format off
//                shard 0   shard 1   shard 2   shard 3
//   replica 0    rank 0    rank 1    rank 2    rank 3
//   replica 1    rank 4    rank 5    rank 6    rank 7
// clang-format on
//
// Every process trains on its own samples, so both dimensions count as data parallel.
#pragma once

#include <stdexcept>
#include <string>

namespace accel::runtime {

struct Mesh {
  int replicate = 1;  // Number of rows, at least 1.
  int shard = 1;      // Length of a row, at least 1.
  int rank = 0;       // This process.

  // The number of processes that train on different samples, and the place of this one among them.
  int data_parallel_size() const { return replicate * shard; }
  int data_parallel_rank() const { return rank; }
};

// Returns the mesh of `world_size` processes whose rows have `shard` ranks. Throws
// std::invalid_argument if the rows would not be equally long.
inline Mesh make_mesh(int world_size, int shard, int rank) {
  if (shard < 1 || world_size % shard != 0) {
    throw std::invalid_argument("a model cannot be sharded over " + std::to_string(shard) + " of " +
                                std::to_string(world_size) +
                                " processes: choose a divisor of the number of processes");
  }
  return {.replicate = world_size / shard, .shard = shard, .rank = rank};
}

}  // namespace accel::runtime
