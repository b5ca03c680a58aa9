// Puts the files of an upload into the folder of a job:
//
// clang-format off
//   JOBS_DIR/JOB/code/           the folder in which the workers start
//   JOBS_DIR/JOB/code.new/       its name while it is being filled
//   JOBS_DIR/JOB/code.unsynced   the mark: a link to the id of a boot. `code` counts only during
//                                that boot, because it may be only in memory
//                                (docs/decisions/0083)
// clang-format on
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/code/blob_cache.h"
#include "common/ids.h"
#include "process/account.h"
#include "upload/core/tree.h"

namespace accel::agent {

struct CodePlace {
  std::string jobs_dir;
  std::string boot_id;  // The kernel's.
  common::JobId job;
  std::optional<process::Account> user;  // nullopt if the job runs as this process's user.
};

// Returns JOBS_DIR/JOB/code.
std::string CodeFolder(const std::string& jobs_dir, const common::JobId& job);

// Returns true if the job's folder exists and counts. Its workers may have changed it, or replaced
// it by a link to another folder.
bool HasCode(const CodePlace& place);

// Makes the folder, with copies of the files that belong to the user. The folder gets its name only
// once it is complete. By then its mark exists and is on the disk. The mark says that the folder
// itself may not be on the disk yet. After an error the folder does not exist, but the mark may.
// All work in the job's folder is done with the user's rights, because the user may change the
// folder meanwhile. Several threads call `may_go_on` between pieces of the work.
// CANCELLED: `may_go_on` has returned false. DATA_LOSS: a blob did not have its hash; it is
// removed from the cache. INVALID_ARGUMENT: the user's fault, for example a file of that name
// or a full quota. UNAVAILABLE: the node's fault. FAILED_PRECONDITION: the job's folder belongs
// to another user.
absl::Status PlaceCode(const CodePlace& place, const upload::Tree& tree, BlobCache* cache,
                       const std::function<bool()>& may_go_on);

// The number of the mark's inode. It identifies one placement of a folder, because each placement
// makes a new mark.
using CodeMark = uint64_t;

// Returns the inode number of the mark if the job has a folder with a mark of this boot.
// Otherwise returns nullopt.
std::optional<CodeMark> FindUnsyncedCode(const CodePlace& place);

// Removes the mark whose inode number FindUnsyncedCode() returned. Must be called only after a sync
// that began after FindUnsyncedCode() returned. Does nothing if the folder has been placed again
// since then, because the new folder may not be on the disk; its mark has another inode. Best
// effort: if the mark remains, the folder is only placed again after the next boot.
void MarkCodeSynced(const CodePlace& place, CodeMark mark);

// Changes the mark so that no agent removes it during this boot. Called when a sync has failed,
// because a later sync may succeed although bytes were lost. Best effort.
void MarkCodeFailed(const CodePlace& place);

}  // namespace accel::agent
