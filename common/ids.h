// The ids of jobs, nodes and generations. JobId and NodeId are distinct types, so that ids of
// different kinds cannot be confused.
#pragma once

#include <compare>
#include <ostream>
#include <string>
#include <utility>

namespace accel::common {

template <typename Tag>
class StringId {
 public:
  StringId() = default;
  explicit StringId(std::string value) : value_(std::move(value)) {}

  const std::string& value() const { return value_; }
  bool empty() const { return value_.empty(); }
  auto operator<=>(const StringId&) const = default;

  template <typename H>
  friend H AbslHashValue(H hash, const StringId& id) {
    return H::combine(std::move(hash), id.value_);
  }
  friend std::ostream& operator<<(std::ostream& out, const StringId& id) {
    return out << id.value_;
  }

 private:
  std::string value_;
};

using JobId = StringId<struct JobTag>;
using NodeId = StringId<struct NodeTag>;

// The number of a generation of a job: 1 for the first, 2 for the second, and so on.
using Generation = int;

// Identifies one generation of one job.
struct GenerationId {
  JobId job;
  Generation generation = 0;
  auto operator<=>(const GenerationId&) const = default;
};

}  // namespace accel::common
