// A queue of connections that is fair over their sources: each source in turn gives
// its oldest connection.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "absl/functional/function_ref.h"

namespace accel::coordinator {

// Not thread-safe.
class SourceQueue {
 public:
  // Adds a connection. A newer connection must have a higher id.
  void Push(const std::string& source, uint64_t id);
  // Removes a connection. Has no effect if the queue does not have it.
  void Remove(const std::string& source, uint64_t id);
  // Removes and returns the oldest connection of the source whose turn it is. Skips sources for
  // which `may` returns false.
  std::optional<uint64_t> Take(absl::FunctionRef<bool(const std::string&)> may);
  // Returns the newest connection of the source that has the most. Among equal sources, chooses the
  // one whose newest connection has waited longest, so that no address is at a disadvantage.
  // nullopt if the queue is empty.
  std::optional<uint64_t> NewestOfGreediest() const;

  size_t size() const { return size_; }

 private:
  using Ids = std::set<uint64_t>;
  // The number of a source's connections, the complement of its newest id, and the source. The
  // greatest value belongs to the source with the most connections. Among equal ones it is the
  // source whose newest id is lowest, because a lower id has a higher complement.
  using Greed = std::tuple<size_t, uint64_t, std::string>;

  static Greed GreedOf(const std::string& source, const Ids& ids);
  void Change(const std::string& source, absl::FunctionRef<void(Ids*)> change);

  std::map<std::string, Ids> by_source_;
  std::set<Greed> by_greed_;
  std::string last_;  // The source that had the last turn.
  size_t size_ = 0;
};

}  // namespace accel::coordinator
