// A queue of connections that is fair over their sources: each source in turn gives its oldest.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"

namespace accel::coordinator {

// Not thread-safe.
class SourceQueue {
 public:
  void Push(const std::string& source, uint64_t id);
  // Removes a connection. Has no effect if the queue does not have it.
  void Remove(const std::string& source, uint64_t id);
  // Removes and returns the oldest connection of the source whose turn it is. Skips sources for
  // which `may` returns false.
  std::optional<uint64_t> Take(absl::FunctionRef<bool(const std::string&)> may);
  // Returns the newest connection of the source that has most. nullopt if the queue is empty.
  std::optional<uint64_t> NewestOfGreediest() const;

  size_t size() const { return size_; }

 private:
  void Resize(const std::string& source, size_t before, size_t after);

  std::map<std::string, std::set<uint64_t>> by_source_;
  std::set<std::pair<size_t, std::string>> by_size_;
  std::string last_;  // The source that had the last turn.
  size_t size_ = 0;
};

}  // namespace accel::coordinator
