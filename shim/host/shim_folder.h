// The folder of one job's shim in the state directory of its agent:
//
// clang-format off
//   SHIMS_DIR/JOB/record.N  who the shim is (shim_record.h), up to generation N; the highest counts
//   SHIMS_DIR/JOB/sock      where it listens
//   SHIMS_DIR/JOB/started   the newest generation whose start it has received
//   SHIMS_DIR/JOB/result    its last report, if it exited without an agent
//   SHIMS_DIR/JOB/user/     if the shim is another user's: `started` and `result`, and whatever else
//                           that user puts there. Only the user's shim can reach it.
// clang-format on
//
// What is in user/ is touched with the rights of its owner, and never followed
// (docs/decisions/0069).
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
  // Makes the folder if it is missing, with mode 0700. Errors: the job's id is no name of a folder,
  // or those of the file system.
  static absl::StatusOr<ShimFolder> Make(const std::string& shims_dir, const common::JobId& job);

  // Makes the folder user/ for the shim of that user, who owns it then.
  absl::Status MakeUsers(const process::Account& user);

  // Returns the jobs that have a folder.
  static std::vector<common::JobId> List(const std::string& shims_dir);

  // Writes the record, so that after a crash either the old one or the new one counts. It is not
  // synced to disk, because only a reboot loses what is not synced, and a reboot ends every shim
  // (docs/decisions/0032). Each generation has another file, because file systems write a file to
  // disk when it is replaced, and its removal then waits for the disk.
  absl::Status WriteRecord(const ShimRecord& record) const;
  // NOT_FOUND: there is no record. INVALID_ARGUMENT: it cannot be read.
  absl::StatusOr<ShimRecord> ReadRecord() const;

  absl::StatusOr<common::UniqueFd> Listen() const;
  absl::StatusOr<common::UniqueFd> Connect() const;

  // Keeps a shim's last report. Failures are ignored, because the result is then reported as lost.
  void WriteResult(const GenerationReport& report) const;
  // Returns the report that was kept, or nullopt if there is none that this release can read.
  std::optional<GenerationReport> ReadResult() const;
  // Returns the newest generation whose start the shim has received, or 0 if it has received none.
  // If the file is damaged, returns the highest number, because the start may have been received.
  common::Generation ReadStarted() const;

  // Removes what an earlier shim of the job has left.
  void Clear();

  // Removes the folder. It must not be used afterwards.
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
  process::Account user_;   // Its owner, with no other group.
};

}  // namespace accel::shim
