#include "runtime/core/block_pool.h"

#include <algorithm>
#include <iterator>

namespace accel::runtime {

void BlockPool::add(Block block) {
  in_use_.emplace(block.memory, block.size);
  used_ += block.size;
  most_used_ = std::max(most_used_, used_);
  ++time_;
}

void* BlockPool::take(std::size_t size) {
  // Equal keys are in the order of their insertion, so the last one was freed last.
  auto found = by_size_.upper_bound(size);
  if (found == by_size_.begin() || std::prev(found)->first != size) return nullptr;
  found = std::prev(found);
  const auto freed = by_time_.find(found->second);
  const Block block = freed->second;
  by_time_.erase(freed);
  by_size_.erase(found);
  free_ -= size;
  add(block);
  return block.memory;
}

std::vector<BlockPool::Block> BlockPool::make_room(std::size_t more) {
  const std::size_t most = std::max(most_used_, used_ + more);
  std::vector<Block> unneeded;
  while (!by_time_.empty()) {
    const auto [freed_at, block] = *by_time_.begin();
    if (time_ - freed_at <= kKept && used_ + free_ + more <= most) break;
    const auto [first, last] = by_size_.equal_range(block.size);
    by_size_.erase(std::find_if(
        first, last, [time = freed_at](const auto& each) { return each.second == time; }));
    by_time_.erase(by_time_.begin());
    free_ -= block.size;
    unneeded.push_back(block);
  }
  return unneeded;
}

bool BlockPool::put(void* memory) {
  const auto found = in_use_.find(memory);
  if (found == in_use_.end()) return false;
  const Block block{memory, found->second};
  in_use_.erase(found);
  used_ -= block.size;
  free_ += block.size;
  by_time_.emplace(++time_, block);
  by_size_.emplace(block.size, time_);
  return true;
}

}  // namespace accel::runtime
