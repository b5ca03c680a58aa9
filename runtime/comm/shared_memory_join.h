// How the ranks of a world agree to share memory, or not to: all of them, or none.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/comm/shared_memory_segment.h"

namespace accel {

// A world's store. get() waits for the key, and throws if it does not come.
struct JoinStore {
  std::function<void(const std::string& key, const std::string& value)> set;
  std::function<std::string(const std::string& key)> get;
};

struct SharedMemoryJoinOptions {
  int rank = 0;
  int world_size = 0;
  // False: this rank does not take part, so nobody does.
  bool enabled = true;
  // Two of them for each rank; a multiple of 4096.
  std::size_t slot_bytes = 1 << 20;
};

struct Joined {
  // Null on all ranks alike: use something else.
  std::unique_ptr<SharedMemorySegment> segment;
  // On rank 0, why not, where somebody should know: the ranks are on one host, and wanted to.
  std::string obstacle;
};

// More ranks than this do not try: they are not on one host.
constexpr int kMaxSharingRanks = 128;

// Rank 0 makes a segment, the others map it and write into it what they have read; rank 0 sees
// whether that has arrived, and its verdict counts for all. Three round trips to the store for each
// rank at most. Throws what the store throws.
Joined join_shared_memory(const SharedMemoryJoinOptions& options, const JoinStore& store);

}  // namespace accel
