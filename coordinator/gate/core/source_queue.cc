#include "coordinator/gate/core/source_queue.h"

namespace accel::coordinator {

SourceQueue::Greed SourceQueue::GreedOf(const std::string& source, const Ids& ids) {
  return {ids.size(), ~*ids.rbegin(), source};
}

void SourceQueue::Change(const std::string& source, absl::FunctionRef<void(Ids*)> change) {
  Ids& ids = by_source_[source];
  if (!ids.empty()) by_greed_.erase(GreedOf(source, ids));
  size_ -= ids.size();
  change(&ids);
  size_ += ids.size();
  if (ids.empty()) {
    by_source_.erase(source);
  } else {
    by_greed_.insert(GreedOf(source, ids));
  }
}

void SourceQueue::Push(const std::string& source, uint64_t id) {
  Change(source, [id](Ids* ids) { ids->insert(id); });
}

void SourceQueue::Remove(const std::string& source, uint64_t id) {
  Change(source, [id](Ids* ids) { ids->erase(id); });
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
  if (by_greed_.empty()) return std::nullopt;
  return ~std::get<1>(*by_greed_.rbegin());
}

}  // namespace accel::coordinator
