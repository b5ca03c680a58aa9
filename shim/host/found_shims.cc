#include "shim/host/found_shims.h"

#include <utility>

#include "common/log.h"
#include "process/pidfd.h"

namespace accel::shim {
namespace {

// Returns true if the shim has nothing that must be reported or ended.
bool IsVoid(const FoundShim& found, const std::string& boot_id) {
  if (found.alive) return false;
  if (found.record.boot_id != boot_id) return true;
  return found.record.generation == 0;
}

}  // namespace

std::vector<FoundShim> FindShims(const std::string& shims_dir, const std::string& boot_id) {
  std::vector<FoundShim> all;
  for (const common::JobId& job : ShimFolder::List(shims_dir)) {
    absl::StatusOr<ShimFolder> folder = ShimFolder::Make(shims_dir, job);
    if (!folder.ok()) {
      common::LogError("cannot look for a shim",
                       {{"job", job.value()}, {"why", folder.status().ToString()}});
      continue;
    }
    FoundShim found = {.job = job, .folder = *std::move(folder), .record = {}, .connection = {}};
    if (absl::StatusOr<ShimRecord> record = found.folder.ReadRecord(); record.ok()) {
      found.record = *std::move(record);
    } else {
      common::LogWarning("the record of a shim cannot be read",
                         {{"job", job.value()}, {"why", record.status().ToString()}});
    }
    // No process listens on a socket of an earlier boot, and the recorded pid may now belong
    // to any process.
    absl::StatusOr<common::UniqueFd> connection = found.folder.Connect();
    const absl::Status connected = connection.status();
    if (connection.ok()) found.connection = *std::move(connection);
    found.alive = !absl::IsNotFound(connected) ||
                  (found.record.boot_id == boot_id &&
                   process::IsRunning(found.record.pid, found.record.start_time_ticks));
    if (IsVoid(found, boot_id)) {
      found.folder.Remove();
      continue;
    }
    all.push_back(std::move(found));
  }
  return all;
}

}  // namespace accel::shim
