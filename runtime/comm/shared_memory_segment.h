// The memory that the ranks of one host share: anonymous (a memfd), so that it has no name that
// could be left behind, and of a size that is fixed and allocated before anybody touches it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "common/unique_fd.h"
#include "runtime/comm/shared_memory_wait.h"

namespace accel {

// What a rank does in a call, for its peers to compare with their own.
struct SharedCall {
  std::uint32_t kind = 0;
  std::uint32_t element = 0;  // A code for element type and operation.
  std::uint64_t bytes = 0;
  std::int64_t root = 0;
  bool operator==(const SharedCall&) const = default;
};

// Written by one rank, read by all. A cache line of its own for what others wait for.
struct alignas(64) RankArea {
  alignas(64) ProgressWord progress;
  // 0 while the rank takes part.
  std::atomic<std::uint32_t> departure;
  // What the rank has read out of the segment, written back as a proof.
  std::array<std::uint8_t, 16> proof;
  std::array<SharedCall, 2> calls;
};

// A mapping of the segment. Not thread-safe, but for what others may do with the atomics in it.
class SharedMemorySegment {
 public:
  // Takes rank 0's place. Each rank gets two slots of `slot_bytes`, a multiple of 4096. Throws
  // std::system_error or std::runtime_error if there is not the memory.
  static std::unique_ptr<SharedMemorySegment> create(int world_size, std::size_t slot_bytes);

  // Maps what address() of another process of this host names, and takes the place of `rank`.
  // Throws the same if this process cannot, or if what it finds is anything else.
  static std::unique_ptr<SharedMemorySegment> attach(const std::string& address, int rank,
                                                     int world_size);

  ~SharedMemorySegment();
  SharedMemorySegment(const SharedMemorySegment&) = delete;
  SharedMemorySegment& operator=(const SharedMemorySegment&) = delete;

  // For attach(), as long as this object lives.
  std::string address() const;

  int rank() const { return rank_; }
  int world_size() const { return world_size_; }
  std::size_t slot_bytes() const { return slot_bytes_; }

  RankArea& area(int rank) const;
  RankArea& mine() const { return area(rank_); }
  std::byte* slot(int rank, int which) const;

  // Whether the process that took that rank's place lives; always true for this one's. The kernel
  // takes the place away from a process that dies in whatever way, in whatever pid namespace.
  bool is_taken(int rank) const;

  // Whether `rank` maps this very memory.
  bool is_proven(int rank) const;

 private:
  SharedMemorySegment(UniqueFd fd, std::string name, int rank, int world_size,
                      std::size_t slot_bytes);
  void take_place();

  const UniqueFd fd_;
  const std::string name_;
  const int rank_;
  const int world_size_;
  const std::size_t slot_bytes_;
  std::byte* memory_ = nullptr;
};

}  // namespace accel
