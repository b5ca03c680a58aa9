// The contents of a world's key-value store: the ranks that have begun to join, the board of their
// calls, and the decision how they leave. Used by communicator_group.cc.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "runtime/comm/call_watch.h"
#include "runtime/comm/communicator_group.h"
#include "runtime/comm/departure.h"
#include "runtime/core/environment.h"

namespace accel::runtime {

// Returns the prefix of the keys of the next world that this process joins. Each world needs a
// different one, because a launcher's store may outlive restarts of the job, and a process may
// leave its world and join again.
std::string next_world_prefix(const Environment& environment);

// Connects to the store at the master address. If `may_serve`, and the launcher serves no store,
// rank 0 serves it. Throws c10::Error if the store does not answer within `timeout`. Each later
// wait has the same limit.
c10::intrusive_ptr<c10d::Store> open_store(const Environment& environment, bool may_serve,
                                           const std::string& prefix,
                                           std::chrono::milliseconds timeout);

// Records in the store that this rank has begun to join.
void note_joining(c10d::Store& store, int rank);
// Returns the ranks that have not begun to join, as "rank 1, rank 3 has not begun to join". Returns
// an empty string if there are none, or if the store cannot be reached.
std::string not_joined(c10d::Store& store, int world_size);

// Returns the board of a CallWatch, in the world's store.
std::unique_ptr<KeyValueBoard> make_store_board(const Environment& environment,
                                                const std::string& prefix);

// Returns the part of `store` by which the ranks agree how they leave. `store` must outlive it.
DepartureStore departure_store(c10d::Store& store);

}  // namespace accel::runtime
