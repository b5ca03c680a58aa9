#include "runtime/memory/large_blocks.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/core/block_pool.h"

namespace accel::runtime {
namespace {

constexpr std::size_t kLarge = 128 << 10;
constexpr std::size_t kHugePage = 2 << 20;

std::size_t page() {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

std::size_t round_up(std::size_t size, std::size_t to) { return (size + to - 1) / to * to; }

void unmap(const std::vector<BlockPool::Block>& blocks) {
  for (const auto& [memory, size] : blocks) {
    // munmap() fails if the process has no mapping left for the memory on both sides. The addresses
    // are then lost, but the memory is returned.
    if (::munmap(memory, size) != 0) ::madvise(memory, size, MADV_DONTNEED);
  }
}

// Returns null if there is no memory. A block that may have huge pages begins with one.
void* map(std::size_t size) {
  const std::size_t slack = size >= kHugePage ? kHugePage - page() : 0;
  void* const mapped =
      ::mmap(nullptr, size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  if (slack == 0) return mapped;
  const auto begin = reinterpret_cast<std::uintptr_t>(mapped);
  const std::uintptr_t aligned = round_up(begin, kHugePage);
  if (aligned > begin) ::munmap(mapped, aligned - begin);
  const std::size_t behind = begin + slack - aligned;
  void* const memory = reinterpret_cast<void*>(aligned);
  if (behind > 0) ::munmap(static_cast<char*>(memory) + size, behind);
  ::madvise(memory, size, MADV_HUGEPAGE);  // Without effect if the system does not allow it.
  return memory;
}

thread_local bool uses_none = false;

// Lives as long as the process, because tensors may be freed at its very end.
class LargeBlocks final : public c10::Allocator {
 public:
  explicit LargeBlocks(c10::Allocator* small) : small_(small) {}

  c10::DataPtr allocate(std::size_t size) override {
    const bool is_large = size >= kLarge && size <= PTRDIFF_MAX && !uses_none;
    void* const memory = is_large ? take(round_up(size, page())) : nullptr;
    // If there is no memory for a mapping, the other allocator finds some or
    // throws LibTorch's error.
    if (memory == nullptr) return small_->allocate(size);
    c10::profiledCPUMemoryReporter().New(memory, size);
    return {memory, memory, &give_back, c10::Device(c10::DeviceType::CPU)};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &give_back; }

  void copy_data(void* to, const void* from, std::size_t size) const override {
    default_copy_data(to, from, size);
  }

 private:
  void* take(std::size_t size) {
    const std::lock_guard lock(mutex_);
    void* memory = pool_.take(size);
    const bool is_new = memory == nullptr;
    // Unmaps unneeded blocks first, so that the process does not grow in between.
    unmap(pool_.make_room(is_new ? size : 0));
    if (is_new && (memory = map(size)) != nullptr) pool_.add({memory, size});
    return memory;
  }

  // Frees the blocks of both allocators. LibTorch's contract for raw_allocate() and
  // raw_deallocate() is stricter: allocate() should attach this function to small tensors too.
  // Small tensors keep the function of their own allocator, which frees them in the same way.
  static void give_back(void* memory);

  c10::Allocator* const small_;
  std::mutex mutex_;
  BlockPool pool_;  // Guarded by mutex_.
};

LargeBlocks& large_blocks() {
  static auto* const blocks = new LargeBlocks(c10::GetCPUAllocator());
  return *blocks;
}

void LargeBlocks::give_back(void* memory) {
  LargeBlocks& blocks = large_blocks();
  {
    const std::lock_guard lock(blocks.mutex_);
    if (blocks.pool_.put(memory)) {
      c10::profiledCPUMemoryReporter().Delete(memory);
      return;
    }
  }
  blocks.small_->raw_deallocate(memory);
}

}  // namespace

void use_large_blocks() {
  static const bool used = [] {
    c10::SetCPUAllocator(&large_blocks());
    return true;
  }();
  (void)used;
}

WithoutLargeBlocks::WithoutLargeBlocks() : before_(std::exchange(uses_none, true)) {}

WithoutLargeBlocks::~WithoutLargeBlocks() { uses_none = before_; }

}  // namespace accel::runtime
