// Puts the files of an upload into the folder of a job:
//
//   JOBS_DIR/JOB/code/           the workers start here
//   JOBS_DIR/JOB/code.new/       while it is being filled
//   JOBS_DIR/JOB/code.unsynced   a link to the id of a boot. `code` counts during that boot alone,
//                                because it may be in memory only (docs/decisions/0083)
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

// Returns true if the job has its folder, which is then as its workers have left it. They may have
// replaced it by a link to another folder.
bool HasCode(const CodePlace& place);

// Makes the folder, with copies that belong to the user. It has its name once it is complete, and a
// mark beside it, which says that it is not on the disk yet. The mark itself is, at that time.
// After an error nothing of the folder is left.
// Everything in the job's folder is done with the user's rights, because the user may change it
// meanwhile. `may_go_on` is asked between pieces of the work, by several threads. CANCELLED: it has
// returned false. DATA_LOSS: a blob did not have its hash, and is removed from the cache.
// INVALID_ARGUMENT: it is the user's fault, because he has put something in the way, or has no
// quota.
absl::Status PlaceCode(const CodePlace& place, const upload::Tree& tree, BlobCache* cache,
                       const std::function<bool()>& may_go_on);

// The number of the mark's inode, which another placement of the folder does not share.
using CodeMark = uint64_t;

// Returns the mark if the job has its folder with a mark of this boot, else nullopt.
std::optional<CodeMark> FindUnsyncedCode(const CodePlace& place);

// Removes the mark that FindUnsyncedCode() has returned. To be called once all that was in the
// folder at that time is on the disk. Does nothing if the folder was placed again since, because
// its mark is another one then. Best effort: a mark that is left costs a copy after the next boot.
void MarkCodeSynced(const CodePlace& place, CodeMark mark);

// Changes the mark so that it remains during this boot, because the disk has failed. Best effort.
void MarkCodeFailed(const CodePlace& place);

}  // namespace accel::agent
