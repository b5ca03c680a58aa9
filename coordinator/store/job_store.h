// The interface of the store from which a coordinator loads its jobs and to which it commits them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/ids.h"

namespace accel::coordinator {

// A job's id and its serialized v1::Job, which a store does not interpret.
using JobRecord = std::pair<common::JobId, std::string>;

// A set of changes, which is stored completely or not at all.
struct JobBatch {
  std::vector<JobRecord> put;        // Jobs to add or replace. Names each job at most once.
  std::vector<common::JobId> erase;  // Jobs to remove. May name jobs that were never stored.
};

// Load() and Commit() are called from one thread, that of the coordinator's loop.
class JobStore {
 public:
  virtual ~JobStore() = default;

  // Returns all stored jobs, sorted by id. Called once, before the first commit. DATA_LOSS: the
  // stored data cannot be read.
  virtual absl::StatusOr<std::vector<JobRecord>> Load() = 0;

  // Stores a batch and calls `done` exactly once, on any thread, possibly before this returns.
  // OK means that the batch survives a crash, as far as this store can. After an error the
  // batch is stored completely or not at all. At most one commit may be in progress. Never
  // blocks on the disk.
  virtual void Commit(JobBatch batch, absl::AnyInvocable<void(absl::Status)> done) = 0;
};

}  // namespace accel::coordinator
