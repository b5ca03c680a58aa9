// The agent's directory on its node:
//
// clang-format off
//   STATE_DIR/agent.lock                 held by the agent; its pid is inside
//   STATE_DIR/node_id                    the permanent id of this node, and the inode of STATE_DIR
//   STATE_DIR/cluster_id                 the cluster to which this node's jobs belong
//   STATE_DIR/jobs/JOB/gen_N/rank_R/     output of workers
//   STATE_DIR/jobs/JOB/code/             the upload of the job (agent/code/place_code.h)
//   STATE_DIR/uploads/                   files of uploads that were fetched (upload/blob_folder.h)
//   STATE_DIR/shims/JOB/                 record and socket of a shim (shim/host/shim_folder.h)
// clang-format on
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
  // Makes the directory (0700) if it does not exist. Waits at most `timeout` for another agent to
  // end. If the directory is a copy of another node's, it gets a new node id and loses the records
  // of that node's shims (docs/decisions/0026). FAILED_PRECONDITION: another agent uses the
  // directory. CANCELLED: `stop_fd` became readable during the wait. Other errors are those of the
  // file system; the message has the path and the reason.
  static absl::StatusOr<StateDir> Open(const std::string& path, absl::Duration timeout,
                                       int stop_fd = -1);

  const common::NodeId& node_id() const { return node_id_; }

  // Lets other users enter the folders of their jobs. Must be called if jobs run as other users.
  // The directory and jobs/ get mode 0711, which lets users pass, but not list the entries. Before
  // that, each folder of a job gets mode 0700, because jobs that ran as the agent may have folders
  // that all users can read.
  absl::Status LetUsersPass() const;

  // Returns the cluster that was stored last, or "" if there is none.
  const std::string& cluster_id() const { return cluster_id_; }
  // Stores the cluster for later agents. Returns OK once the file is on the disk.
  absl::Status RememberCluster(const std::string& cluster) const;
  absl::Status ForgetCluster() const;

  // Returns the default folder for the output of jobs.
  std::string jobs_dir() const { return path_ + "/jobs"; }
  // Returns the folder for files of uploads.
  std::string uploads_dir() const { return path_ + "/uploads"; }
  // Returns the folder for the records of shims.
  std::string shims_dir() const { return path_ + kShims; }

 private:
  static constexpr char kShims[] = "/shims";
  static constexpr char kClusterId[] = "/cluster_id";

  static absl::StatusOr<common::NodeId> ReadOrMakeNodeId(const std::string& dir);

  StateDir(std::string path, common::UniqueFd lock, common::NodeId node_id, std::string cluster_id)
      : path_(std::move(path)),
        lock_(std::move(lock)),
        node_id_(std::move(node_id)),
        cluster_id_(std::move(cluster_id)) {}

  std::string path_;
  common::UniqueFd lock_;
  common::NodeId node_id_;
  std::string cluster_id_;
};

}  // namespace accel::agent
