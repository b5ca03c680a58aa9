#include "runtime/comm/shared_memory_join.h"

#include <exception>
#include <utility>

#include "common/boot_id.h"

namespace accel::runtime {
namespace {

constexpr char kSegmentKey[] = "shared_memory/segment";
constexpr char kVerdictKey[] = "shared_memory/verdict";
constexpr char kNone[] = "none";
constexpr char kYes[] = "yes";
constexpr char kNo[] = "no";
// The answer of a rank that does not share memory without a fault, because it is on another host
// or not enabled.
constexpr char kDeclined[] = "declined";

// Returns the size of a slot, of which each rank has two. The slots of two ranks have 4 MiB
// together. Four ranks also have 4 MiB, because the memory counts for each process that touches it
// (docs/decisions/0080). More ranks have slots of the same size as four, because a slot is divided
// among all of them.
std::size_t slot_bytes(int world_size) { return world_size <= 2 ? 1 << 20 : 512 << 10; }

std::string answer_key(int rank) { return "shared_memory/rank_" + std::to_string(rank); }

std::string reason_of(int rank, const std::exception& error) {
  return "rank " + std::to_string(rank) + ": " + error.what();
}

// Reads the other ranks' answers, on rank 0. Sets `shared` to true if all of them map the segment.
// Returns the first reason of a rank that failed to, or an empty string if there is none.
std::string read_answers(const SharedMemoryOptions& options, const JoinStore& store,
                         const SharedMemorySegment& segment, bool& shared) {
  std::string obstacle;
  shared = true;
  for (int rank = 1; rank < options.world_size; ++rank) {
    std::string answer = store.get(answer_key(rank));
    if (answer == kYes && segment.has_mapped(rank)) continue;
    shared = false;
    if (answer == kDeclined || !obstacle.empty()) continue;
    obstacle = answer == kYes ? "rank " + std::to_string(rank) + " has mapped other memory"
                              : std::move(answer);
  }
  return obstacle;
}

Joined lead(const SharedMemoryOptions& options, const JoinStore& store) {
  Joined out;
  try {
    if (options.enabled) {
      out.segment = SharedMemorySegment::create(options.world_size, slot_bytes(options.world_size));
    }
  } catch (const std::exception& error) {
    out.obstacle = reason_of(0, error);
  }
  if (out.segment == nullptr) {
    store.set(kSegmentKey, kNone);
    return out;
  }
  store.set(kSegmentKey, common::BootId() + ' ' + out.segment->address());
  bool shared = false;
  out.obstacle = read_answers(options, store, *out.segment, shared);
  if (!shared) out.segment.reset();
  store.set(kVerdictKey, shared ? kYes : kNo);
  return out;
}

Joined follow(const SharedMemoryOptions& options, const JoinStore& store) {
  Joined out;
  const std::string offer = store.get(kSegmentKey);
  if (offer == kNone) return out;
  const std::size_t space = offer.find(' ');
  std::string answer = kDeclined;
  try {
    if (options.enabled && space != std::string::npos &&
        offer.substr(0, space) == common::BootId()) {
      out.segment =
          SharedMemorySegment::attach(offer.substr(space + 1), options.rank, options.world_size);
      answer = kYes;
    }
  } catch (const std::exception& error) {
    answer = reason_of(options.rank, error);
  }
  store.set(answer_key(options.rank), answer);
  if (out.segment != nullptr && store.get(kVerdictKey) != kYes) out.segment.reset();
  return out;
}

}  // namespace

Joined join_shared_memory(const SharedMemoryOptions& options, const JoinStore& store) {
  if (options.world_size > kMaxSharingRanks) return {};
  return options.rank == 0 ? lead(options, store) : follow(options, store);
}

}  // namespace accel::runtime
