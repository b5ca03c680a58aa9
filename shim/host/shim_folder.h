// The folder of one job's shim in the state directory of its agent:
//
// clang-format off
//   SHIMS_DIR/JOB/record.N  its record as of generation N (shim_record.h); the highest N counts
//   SHIMS_DIR/JOB/sock      the socket on which it listens
//   SHIMS_DIR/JOB/started   the newest generation whose start it has received
//   SHIMS_DIR/JOB/result    its last report, if no agent read it in time, or if the shim died
//   SHIMS_DIR/JOB/user/     only for the shim of another user: `started`, `result`, and anything
//                           that this user puts there. Only this user's shims can reach it.
// clang-format on
//
// The agent accesses files in user/ only with the rights of its owner, and follows no
// links there (docs/decisions/0069).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/ids.h"
#include "common/unique_fd.h"
#include "process/account.h"
#include "shim/core/messages.h"
#include "shim/host/shim_record.h"

namespace accel::shim {

// Not thread-safe. No call waits.
class ShimFolder {
 public:
  // Makes the folder if it is missing, with mode 0700. INVALID_ARGUMENT: the job's id cannot name a
  // folder. Other errors are those of the file system.
  static absl::StatusOr<ShimFolder> Make(const std::string& shims_dir, const common::JobId& job);

  // Makes the folder user/, which then belongs to `user`.
  absl::Status MakeUsers(const process::Account& user);

  // Returns the jobs that have a folder.
  static std::vector<common::JobId> List(const std::string& shims_dir);

  // Writes the record, so that after a crash of the agent either the old record or the new one
  // counts. The record is not synced to disk, because only a reboot loses unsynced files, and a
  // reboot ends every shim (docs/decisions/0032). Each generation has its own file. If a file were
  // replaced instead, the file system would write it to the disk, and the call might wait for that.
  absl::Status WriteRecord(const ShimRecord& record) const;
  // Returns the newest record. NOT_FOUND: there is no record. INVALID_ARGUMENT: this release
  // cannot parse it.
  absl::StatusOr<ShimRecord> ReadRecord() const;

  absl::StatusOr<common::UniqueFd> Listen() const;
  absl::StatusOr<common::UniqueFd> Connect() const;

  // Stores a shim's last report. Failures are ignored; if the result is missing, it is later
  // reported as lost.
  void WriteResult(const GenerationReport& report) const;
  // Returns the stored report, or nullopt if there is none that this release can read.
  std::optional<GenerationReport> ReadResult() const;
  // Returns the newest generation whose start the shim has received, or 0 if it has received none.
  // If the file is damaged, returns the largest integer, because the start may have been received.
  common::Generation ReadStarted() const;

  // Removes the files that an earlier shim of the job has left.
  void Clear();

  // Removes the folder. This object must not be used afterwards.
  void Remove();

  // Returns the folder in which the shim itself writes.
  int shim_fd() const { return users_.valid() ? users_.get() : folder_.get(); }

 private:
  ShimFolder(std::string path, common::UniqueFd folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}

  absl::Status Write(const std::string& name, const std::string& content) const;
  absl::StatusOr<std::string> Read(int folder, const std::string& name) const;
  // Reads a file that the shim has written.
  absl::StatusOr<std::string> ReadFromShim(const std::string& name) const;
  absl::Status OpenUsers();
  void ClearUsers() const;

  std::string path_;
  common::UniqueFd folder_;
  common::UniqueFd users_;  // The folder user/, if there is one.
  process::Account user_;   // The owner of user/, with one group.
};

}  // namespace accel::shim
