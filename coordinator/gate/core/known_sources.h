// The sources from which valid calls have come most recently.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace accel::coordinator {

// Not thread-safe.
class KnownSources {
 public:
  // Remembers at most `most` sources, which is at least 1.
  explicit KnownSources(int most) : most_(static_cast<size_t>(most)) {}

  // Remembers the source. If there are too many, forgets the source of the oldest call.
  void Remember(const std::string& source) {
    const auto [found, added] = times_.try_emplace(source, 0);
    if (!added) by_time_.erase(found->second);
    found->second = ++now_;
    by_time_[now_] = source;
    if (times_.size() <= most_) return;
    times_.erase(by_time_.begin()->second);
    by_time_.erase(by_time_.begin());
  }

  bool Contains(const std::string& source) const { return times_.contains(source); }

 private:
  const size_t most_;
  uint64_t now_ = 0;
  std::map<std::string, uint64_t> times_;
  std::map<uint64_t, std::string> by_time_;
};

}  // namespace accel::coordinator
