// Decides which blocks of memory are kept for reuse. A step of training allocates the same large
// blocks again and again: a unit's parameters, its gradients, activations. Fresh memory for each of
// them costs a page fault per page, which is a third of a step's processor time. A heap that keeps
// freed memory needs a fifth more at the peak. Small blocks between large ones prevent it from
// joining their neighbours (docs/decisions/0080). The pool keeps freed blocks, but never lets the
// process grow beyond the most that was in use at one time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace accel::runtime {

// The blocks in use and the free ones, by their addresses. Does not touch the memory of
// blocks. Not thread-safe.
class BlockPool {
 public:
  struct Block {
    void* memory = nullptr;
    std::size_t size = 0;  // Bytes.

    friend bool operator==(const Block&, const Block&) = default;
  };

  // The age at which make_room() gives back a free block that was not reused: the number of blocks
  // that were taken or returned since it became free.
  static constexpr std::uint64_t kKept = 4096;

  // Returns a free block of exactly `size` bytes, the one that was freed last, and counts it as in
  // use. Returns null if there is no such block. The caller then makes one and calls add().
  void* take(std::size_t size);

  // Returns the free blocks that the caller must give back to the system, and forgets them. Call it
  // whenever a block is taken, with 0, or made, with its size. The blocks are those that were not
  // used for long. If `more` bytes would raise the total above the most that was in use at one
  // time, further ones are given back.
  std::vector<Block> make_room(std::size_t more);

  // Counts a new block as in use.
  void add(Block block);

  // Makes a block free. Returns false, and does nothing, if the block is not one of the pool's.
  bool put(void* memory);

  // The bytes of all blocks in use, for tests.
  std::size_t used_bytes() const { return used_; }
  // The bytes of all free blocks, for tests.
  std::size_t free_bytes() const { return free_; }

 private:
  std::map<void*, std::size_t> in_use_;
  // Free blocks by the time at which they became free, and these times by the size of the block.
  std::map<std::uint64_t, Block> by_time_;
  std::multimap<std::size_t, std::uint64_t> by_size_;
  std::uint64_t time_ = 0;  // Counts the blocks that were taken or returned.
  std::size_t used_ = 0;
  std::size_t free_ = 0;
  std::size_t most_used_ = 0;
};

}  // namespace accel::runtime
