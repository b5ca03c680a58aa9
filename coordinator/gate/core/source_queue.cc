#include "coordinator/gate/core/source_queue.h"

namespace accel::coordinator {

void SourceQueue::Resize(const std::string& source, size_t before, size_t after) {
  if (before > 0) by_size_.erase({before, source});
  if (after > 0) by_size_.emplace(after, source);
  if (after == 0) by_source_.erase(source);
  size_ += after - before;
}

void SourceQueue::Push(const std::string& source, uint64_t id) {
  std::set<uint64_t>& ids = by_source_[source];
  const size_t before = ids.size();
  ids.insert(id);
  Resize(source, before, ids.size());
}

void SourceQueue::Remove(const std::string& source, uint64_t id) {
  const auto found = by_source_.find(source);
  if (found == by_source_.end() || found->second.erase(id) == 0) return;
  const size_t after = found->second.size();
  Resize(source, after + 1, after);
}

std::optional<uint64_t> SourceQueue::Take(absl::FunctionRef<bool(const std::string&)> may) {
  auto next = by_source_.upper_bound(last_);
  for (size_t n = 0; n < by_source_.size(); ++n, ++next) {
    if (next == by_source_.end()) next = by_source_.begin();
    if (!may(next->first)) continue;
    last_ = next->first;
    const uint64_t id = *next->second.begin();
    Remove(last_, id);
    return id;
  }
  return std::nullopt;
}

std::optional<uint64_t> SourceQueue::NewestOfGreediest() const {
  if (by_size_.empty()) return std::nullopt;
  return *by_source_.at(by_size_.rbegin()->second).rbegin();
}

}  // namespace accel::coordinator
