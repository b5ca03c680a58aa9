// The memory that the ranks of one host share.
//
// It is a memfd, so it has no name in a file system, and nothing is left behind however the ranks
// end. Its size is sealed and its pages are allocated before it is used, because a page that is
// missing later would be a SIGBUS (docs/decisions/0017).
//
// clang-format off
//   | header | area of rank 0 | area of rank 1 | ... | rank 0: slot 0, slot 1 | rank 1: ... |
//              a RankArea each                         slot_bytes each, page-aligned
// clang-format on
//
// Each rank also holds a record lock on one byte of the memfd, so that its peers can see whether
// its process lives.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "common/unique_fd.h"
#include "runtime/comm/shared_memory_wait.h"

namespace accel::runtime {

// The call that a rank makes, for its peers to compare with their own.
struct SharedCall {
  std::uint32_t kind = 0;
  std::uint32_t element = 0;  // Identifies the element type and the operation of a reduction.
  std::uint64_t bytes = 0;
  std::int64_t root = 0;
  bool operator==(const SharedCall&) const = default;
};

// The state of one rank, which that rank writes and all read. Its peers write only
// progress.sleepers. `progress` has a separate cache line, because the peers poll it.
struct alignas(64) RankArea {
  alignas(64) ProgressWord progress;
  // 0 while the rank takes part; otherwise SharedMemoryExchange's reason for its departure.
  std::atomic<std::uint32_t> departure;
  // A copy of the random bytes in the segment's header, which proves that the rank
  // maps this memory.
  std::array<std::uint8_t, 16> proof;
  // The calls of the rank's last two rounds, by the parity of the round.
  std::array<SharedCall, 2> calls;
};

// A mapping of the segment by one rank. Thread-safe only in the atomic members of the areas.
class SharedMemorySegment {
 public:
  // Creates the memory, and takes the lock of rank 0. Each rank gets two slots of `slot_bytes`,
  // which must be a multiple of 4096. Throws std::system_error if there is not enough memory, or a
  // limit of this process forbids it.
  static std::unique_ptr<SharedMemorySegment> create(int world_size, std::size_t slot_bytes);

  // Maps the memory that another process of this host returned from address(), and takes the
  // lock of `rank`. Throws std::system_error if this process cannot open the memory or the lock
  // is held. Throws std::runtime_error if the address does not lead to a segment for
  // `world_size` ranks.
  static std::unique_ptr<SharedMemorySegment> attach(const std::string& address, int rank,
                                                     int world_size);

  ~SharedMemorySegment();
  SharedMemorySegment(const SharedMemorySegment&) = delete;
  SharedMemorySegment& operator=(const SharedMemorySegment&) = delete;

  // Returns the address for attach(), valid as long as this object lives.
  std::string address() const;

  int rank() const { return rank_; }
  int world_size() const { return world_size_; }
  std::size_t slot_bytes() const { return slot_bytes_; }

  RankArea& area(int rank) const;
  RankArea& mine() const { return area(rank_); }
  std::byte* slot(int rank, int which) const;

  // Returns true if the process that holds the lock of `rank` is alive. Always returns
  // true for this rank. The kernel releases the lock however the process ends, and in
  // whatever pid namespace.
  bool is_alive(int rank) const;

  // Returns true if `rank` has mapped this memory.
  bool has_mapped(int rank) const;

 private:
  SharedMemorySegment(common::UniqueFd fd, std::string name, int rank, int world_size,
                      std::size_t slot_bytes);
  void take_lock();

  const common::UniqueFd fd_;
  const std::string name_;
  const int rank_;
  const int world_size_;
  const std::size_t slot_bytes_;
  std::byte* memory_ = nullptr;
};

}  // namespace accel::runtime
