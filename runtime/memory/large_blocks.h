// The memory of large tensors on the CPU, in a process that trains a sharded model.
#pragma once

namespace accel::runtime {

// Makes LibTorch take the memory of large tensors on the CPU, of at least 128 KiB, from separate
// mappings. The mappings have huge pages if the system has them. Freed mappings are kept for later
// tensors of the same size, as block_pool.h describes. Smaller tensors, and tensors that already
// exist, are not affected. Has no effect if the program has set an allocator of a higher priority.
//
// Threads may allocate and free tensors meanwhile and later. A child process after fork() may not
// touch large tensors, because a thread of its parent may have held the lock.
//
// The C library's heap would need a fifth more memory at the peak of a sharded step
// (docs/decisions/0080).
void use_large_blocks();

// While the scope lives, the memory of tensors that this thread makes comes from the C library, as
// without use_large_blocks(). It serves blocks that are never touched, because the pool would count
// them as used, and keep as much memory later.
class WithoutLargeBlocks {
 public:
  WithoutLargeBlocks();
  ~WithoutLargeBlocks();
  WithoutLargeBlocks(const WithoutLargeBlocks&) = delete;
  WithoutLargeBlocks& operator=(const WithoutLargeBlocks&) = delete;

 private:
  const bool before_;
};

}  // namespace accel::runtime
