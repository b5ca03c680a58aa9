// The agreement of the ranks of a world whether all of them leave it in good order.
//
// The shutdown of NCCL is a collective, so a rank may begin it only if it knows that all others
// will take part. Each rank that has finished its work arrives in the store, and waits for a
// decision. The last rank to arrive decides "together". A rank that fails, or whose wait exceeds
// the limit, decides "alone". Only the first decision counts, and all ranks learn the same one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace accel::runtime {

// The state that the ranks of a world share when they leave it, in the world's store. The functions
// throw std::exception if the store cannot be reached.
struct DepartureStore {
  // Counts this rank as arrived, and returns the number of ranks that have arrived.
  std::function<std::int64_t()> arrive;
  // Proposes a decision, and returns the one that counts, which is the first proposal of any rank.
  std::function<bool(bool together)> decide;
  // Blocks until there is a decision, or for `limit`.
  std::function<void(std::chrono::milliseconds limit)> await_decision;
};

// Called by a rank that has finished its work. Waits until all ranks have arrived, a rank has left
// alone, or `limit` has passed. Returns true if all ranks of a world of `size` leave it together.
// Returns false if the store cannot be reached.
bool depart_together(const DepartureStore& store, int size, std::chrono::milliseconds limit);

// Called by a rank that fails, so that no other rank waits for it.
void depart_alone(const DepartureStore& store);

}  // namespace accel::runtime
