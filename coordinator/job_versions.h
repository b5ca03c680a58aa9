// The committed versions of one job, as clients read them. Each change of a job makes a version,
// which may be read and sent while the job already changes again. All versions share what does not
// change from one to the next: the spec, and the records of generations that remain as they were.
// A copy of them would make each change as expensive as the job is large: its environment, and all
// placements of all its generations (docs/decisions/0094).
#pragma once

#include <memory>
#include <set>

#include "common/ids.h"
#include "proto/job.pb.h"

namespace accel::coordinator {

// Not thread-safe, but versions are: they are read on any thread, and outlive this object.
class JobVersions {
 public:
  // Returns the next version, which equals *job. `changed` has each generation whose record has
  // changed since the version before. It need not have those that no version had yet. After the
  // call, *job is as it was before.
  std::shared_ptr<const v1::Job> Next(const std::set<common::Generation>& changed, v1::Job* job);
  // Returns the newest version. There must be one.
  std::shared_ptr<const v1::Job> newest() const;

 private:
  struct Version;

  std::shared_ptr<const Version> newest_;
};

}  // namespace accel::coordinator
