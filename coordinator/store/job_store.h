// Where the coordinator's jobs outlive it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/ids.h"

namespace accel::coordinator {

// A job's id and its serialized v1::Job: to a store it is bytes.
using JobRecord = std::pair<common::JobId, std::string>;

// Stored as a whole or not at all.
struct JobBatch {
  std::vector<JobRecord> put;        // Each job once; replaces what was there.
  std::vector<common::JobId> erase;  // May name what was never stored.
};

// Load() and Commit() are called from one thread, the coordinator's loop.
class JobStore {
 public:
  virtual ~JobStore() = default;

  // Everything stored, by id. Called once, before the first commit. DATA_LOSS: what is there cannot
  // be read.
  virtual absl::StatusOr<std::vector<JobRecord>> Load() = 0;

  // Calls done exactly once, on any thread, possibly before this returns: OK when the batch
  // survives a crash, else an error after which the batch is stored as a whole or not at all. At
  // most one commit is under way. Never blocks for the disk.
  virtual void Commit(JobBatch batch, absl::AnyInvocable<void(absl::Status)> done) = 0;
};

}  // namespace accel::coordinator
