// The interface to the folders with the uploaded programs of jobs (docs/decisions/0077).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/ids.h"
#include "process/account.h"

namespace accel::agent {

// A job whose start waits for its upload.
struct CodeRequest {
  common::JobId job;
  std::string tree;  // The hash of its manifest (JobSpec.upload).
  // The user who owns the folder. nullopt if the job runs as the agent itself.
  std::optional<process::Account> user;
};

// Not thread-safe: the thread of the agent's loop makes all calls. No call blocks.
class CodeFolders {
 public:
  virtual ~CodeFolders() = default;

  // Takes the results of fetches that have ended. wake_fd() is not readable afterwards.
  virtual void Update() = 0;
  // Returns true if the fetch for this job has ended, so that Find() has its result.
  virtual bool IsKnown(const common::JobId& job) const = 0;
  // Returns the folder with the job's program. INVALID_ARGUMENT: the user's fault, for example a
  // full quota. UNAVAILABLE: any other failure, of the node or of the coordinator, or the fetch has
  // not ended.
  virtual absl::StatusOr<std::string> Find(const common::JobId& job) const = 0;
  // Sets all jobs whose starts wait. Begins a fetch for each new job, and cancels the fetches of
  // jobs that are no longer listed.
  virtual void Set(const std::vector<CodeRequest>& requests) = 0;
  // Readable when a fetch has ended, until Update() is called.
  virtual int wake_fd() const = 0;
};

}  // namespace accel::agent
