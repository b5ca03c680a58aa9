// Looks for damage in SQLite's write-ahead log, which SQLite does not report. Pure.
//
// SQLite reads a log up to the first frame whose checksum does not match. A crash in the middle of
// a commit leaves such an end. A bit that has flipped in a frame of an earlier commit looks the
// same to SQLite. It would silently drop that commit and all later ones, although all of them were
// acknowledged (invariant 1). The frames that follow distinguish the two cases, because a commit is
// written only after fsync has returned for the commit before it.
//
//   | commit 1 | commit 2 | commi        a crash: nothing follows the frame that does not match
//   | commit 1 | com?it 2 | commit 3 |   damage: commit 3 shows that commit 2 was whole
//
// In the last commit, a flipped bit and a crash cannot be distinguished. The log then ends before
// that commit. The format is described at https://www.sqlite.org/fileformat2.html#walformat.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace accel::coordinator {

// Returns OK if SQLite will read every commit whose fsync has returned. DATA_LOSS: SQLite would
// drop a commit. The message says where the damage is.
absl::Status CheckWriteAheadLog(absl::string_view log);

}  // namespace accel::coordinator
