// The agreement of the ranks of a world to share memory: either all of them do, or none.
//
// Host names do not tell whether two ranks can share memory. Containers of one host have
// different names, and different hosts can have the same name. So the ranks try it, through
// the world's store:
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
// The secret proves that both ranks map the same memory, not just equal files. If any rank
// cannot share memory, or it is switched off there, rank 0's verdict is "no", and all ranks drop
// the segment (docs/decisions/0017).
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
  // Null if the ranks do not share memory. It is then null on all of them.
  std::unique_ptr<SharedMemorySegment> segment;
  // The reason of the first rank that failed to create or map the segment. It is only set on rank
  // 0, and empty if no rank failed. A rank that is on another host, or not enabled, has not failed.
  std::string obstacle;
};

// The largest world that tries to share memory. Larger ones are assumed to have several hosts.
constexpr int kMaxSharingRanks = 128;

// Negotiates a segment with the other ranks, all of which must call it. Takes at most three round
// trips to the store on each rank but rank 0, which makes one for each other rank and two more.
// Throws what the store throws.
Joined join_shared_memory(const SharedMemoryOptions& options, const JoinStore& store);

}  // namespace accel::runtime
