// The jobs that wait or run, and how many of them each user has.
#pragma once

#include <set>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "common/check.h"
#include "common/ids.h"

namespace accel::coordinator {

// Not thread-safe.
class UnfinishedJobs {
 public:
  // Adds a job of this owner. Does nothing if the job was added before.
  void Insert(const common::JobId& id, const std::string& owner) {
    if (ids_.insert(id).second) ++by_owner_[owner];
  }

  // Removes a job. Does nothing if the job was not added. `owner` must be the owner
  // given to Insert().
  void Erase(const common::JobId& id, const std::string& owner) {
    if (ids_.erase(id) == 0) return;
    const auto found = by_owner_.find(owner);
    ACCEL_CHECK(found != by_owner_.end(), "the owner of a job does not change");
    if (--found->second == 0) by_owner_.erase(found);
  }

  const std::set<common::JobId>& ids() const { return ids_; }

  int CountOf(const std::string& owner) const {
    const auto found = by_owner_.find(owner);
    return found == by_owner_.end() ? 0 : found->second;
  }

 private:
  std::set<common::JobId> ids_;
  absl::flat_hash_map<std::string, int> by_owner_;
};

}  // namespace accel::coordinator
