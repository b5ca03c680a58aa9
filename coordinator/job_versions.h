// The committed versions of one job, as clients read them. Each change of a job makes a version,
// which may be read and sent while the job already changes again. All versions share what does not
// change from one to the next: the spec, and the records of generations that remain as they were.
// A copy of them would make each change as expensive as the job is large: its environment, and all
// placements of all its generations (docs/decisions/0094).
#pragma once

#include <map>
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

 private:
  using Record = std::shared_ptr<v1::GenerationRecord>;

  struct Version;

  std::shared_ptr<v1::JobSpec> spec_;
  std::map<common::Generation, Record> records_;  // Those of the newest version.
};

}  // namespace accel::coordinator
