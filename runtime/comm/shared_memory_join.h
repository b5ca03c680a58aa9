// How the ranks of a world agree to share memory: either all of them do, or none.
//
// Host names do not tell whether two ranks can share memory: containers of one host have different
// names, and different hosts can have the same. So the ranks try it, through the world's store:
//
// clang-format off
//   rank 0                                         rank R
//   creates a segment
//   shared_memory/segment = BOOT_ID ADDRESS  ───▶  maps it, and writes back the secret that it
//                                                  finds in the memory
//   looks for the secret in the memory       ◀───  shared_memory/rank_R = yes
//   shared_memory/verdict = yes              ───▶  uses the segment
// clang-format on
//
// The secret proves that both map the same memory, not just equal files. If any rank cannot or does
// not want to, rank 0's verdict is "no", and all ranks drop the segment. (docs/decisions/0017)
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/comm/shared_memory_segment.h"

namespace accel::runtime {

// The world's store. get() blocks until the key is set, and throws if that takes too long.
struct JoinStore {
  std::function<void(const std::string& key, const std::string& value)> set;
  std::function<std::string(const std::string& key)> get;
};

struct SharedMemoryOptions {
  int rank = 0;
  int world_size = 0;
  // If false, this rank does not take part, so no rank shares memory.
  bool enabled = true;
};

struct Joined {
  // Null if the ranks do not share memory; then it is null on all of them.
  std::unique_ptr<SharedMemorySegment> segment;
  // The reason of the first rank that failed to create or map the segment. Only set on rank 0.
  // Empty if none failed: to be on another host, or not enabled, is not a failure.
  std::string obstacle;
};

// The largest world that tries to share memory. Larger ones are assumed to have several hosts.
constexpr int kMaxSharingRanks = 128;

// Negotiates a segment with the other ranks, all of which must call it. Takes at most three round
// trips to the store per rank. Throws what the store throws.
Joined join_shared_memory(const SharedMemoryOptions& options, const JoinStore& store);

}  // namespace accel::runtime
