// The trace of what a rank has done with the units of a sharded model. Ranks compare their traces,
// and the error names the unit if they differ. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace accel::runtime {

// The communication of one rank for a model, in its order. Not thread-safe.
class UnitTrace {
 public:
  // The number of entries that are kept as text.
  static constexpr std::size_t kKept = 256;

  // Adds an entry, such as "gather layers.0".
  void add(const std::string& entry);
  // Returns a number that is equal on two ranks that have made the same entries. If the entries
  // differ, the numbers differ with near certainty.
  std::int64_t digest() const { return static_cast<std::int64_t>(digest_ >> 1); }
  // Returns the last entries as bytes, for difference_between().
  std::string bytes() const;

 private:
  std::uint64_t digest_ = 0xcbf29ce484222325;  // FNV-1a.
  std::uint64_t count_ = 0;
  std::deque<std::string> last_;
};

// Describes where the ranks' traces begin to differ, from the bytes() of each rank in rank order:
// "rank 0 did gather layers.1; rank 1 did reduce layers.0". Malformed bytes count as an
// empty trace.
std::string difference_between(const std::vector<std::string>& traces);

}  // namespace accel::runtime
