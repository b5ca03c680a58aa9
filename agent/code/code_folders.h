// The interface to the folders with the uploaded programs of jobs (docs/decisions/0077).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/ids.h"
#include "process/account.h"

namespace accel::agent {

// A job that has a start waiting for its upload.
struct CodeRequest {
  common::JobId job;
  std::string tree;  // JobSpec.upload.
  // The user who owns the folder. nullopt if the job runs as the agent itself.
  std::optional<process::Account> user;
};

// Not thread-safe: the thread of the agent's loop makes all calls. No call blocks.
class CodeFolders {
 public:
  virtual ~CodeFolders() = default;

  // Takes what has ended. wake_fd() is not readable afterwards.
  virtual void Update() = 0;
  // Returns true if Find() has the answer about this job.
  virtual bool IsKnown(const common::JobId& job) const = 0;
  // Returns the folder with the job's program, or why there is none. INVALID_ARGUMENT: that is the
  // user's fault. Others: it is the node's.
  virtual absl::StatusOr<std::string> Find(const common::JobId& job) const = 0;
  // Sets all jobs whose starts wait. Begins to fetch for each new one, and cancels the fetches of
  // those that are gone.
  virtual void Set(const std::vector<CodeRequest>& requests) = 0;
  // Readable when a fetch has ended, until Update() is called.
  virtual int wake_fd() const = 0;
};

}  // namespace accel::agent
