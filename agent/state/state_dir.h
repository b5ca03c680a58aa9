// The agent's directory on its node:
//
//   STATE_DIR/agent.lock                 held by the agent and by every shim that it started; the
//                                        agent's pid is inside
//   STATE_DIR/node_id                    who this node is, for ever, and the inode of STATE_DIR
//   STATE_DIR/jobs/JOB/gen_N/rank_R/     output of workers
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "common/unique_fd.h"

namespace accel::agent {

class StateDir {
 public:
  // Makes the directory (0700) if it does not exist. Shims inherit the lock through `lock_fd`
  // (docs/decisions/0003). While a shim of a dead agent still ends its job, this waits for it, at
  // most `patience`, and then kills it with all of its descendants. A copy of another node's
  // directory gets a new node id (docs/decisions/0026). FAILED_PRECONDITION: another agent uses the
  // directory; PERMISSION_DENIED, NOT_FOUND and the like: the path, with the reason.
  static absl::StatusOr<StateDir> Open(const std::string& path, absl::Duration patience);

  const common::NodeId& node_id() const { return node_id_; }
  int lock_fd() const { return lock_.get(); }

  // The default place for a generation's output.
  std::string jobs_dir() const { return path_ + "/jobs"; }

 private:
  StateDir(std::string path, common::UniqueFd lock, common::NodeId node_id)
      : path_(std::move(path)), lock_(std::move(lock)), node_id_(std::move(node_id)) {}

  std::string path_;
  common::UniqueFd lock_;
  common::NodeId node_id_;
};

}  // namespace accel::agent
