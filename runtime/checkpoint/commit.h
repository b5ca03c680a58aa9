// Writes a checkpoint to disk so that a reader finds a complete one or none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint_file.h"
#include "runtime/checkpoint/claim.h"
#include "runtime/core/manifest.h"

namespace accel::runtime {

// The part of a checkpoint that other ranks write into its partial folder.
struct OtherRanks {
  std::set<std::string> names;  // The names of their files.
  // Returns the facts of these files once they are durable. Throws CheckpointError if that fails.
  std::function<std::map<std::string, FileFacts>()> await;
};

// The facts that a commit needs in addition to the files.
struct CommitOptions {
  // The number of an automatically named checkpoint; for others, the number that is next.
  std::uint64_t iteration = 0;
  // The world size of the run that saves.
  int num_processes = 1;
  // The claim that must hold just before the commit, unless nobody has claimed the place. If
  // nullopt, no claim is checked.
  std::optional<HeldClaim> claim = std::nullopt;
  std::optional<OtherRanks> others = std::nullopt;
};

// Creates the empty partial folder of `folder` and returns it. Writes `claim` before that. Until
// commit_checkpoint() other code may put extra files there, which become part of the checkpoint.
// Throws std::invalid_argument if `folder` exists and is neither a checkpoint nor empty, or if a
// file system is mounted there. Also throws it for a symbolic link that leads nowhere. Throws
// CheckpointError if the partial folder cannot be created, and as claim_checkpoints() does.
std::filesystem::path begin_checkpoint(const std::filesystem::path& folder,
                                       const std::optional<HeldClaim>& claim = std::nullopt);

// Writes a part of a checkpoint into the partial folder that another rank has created,
// durably. Returns the facts of the files. Throws CheckpointError if a file cannot be written
// or already exists.
std::map<std::string, FileFacts> write_part(const std::filesystem::path& partial,
                                            const std::vector<CheckpointFile>& files);

// Writes `files` and the manifest into the partial folder that begin_checkpoint() created, durably,
// and commits that folder as `folder`. An older checkpoint of this name is replaced, and its
// unlisted files are carried over (extra_files.h). If the older checkpoint cannot be deleted after
// the commit, that is logged to standard error.
//
// Throws CheckpointError if anything cannot be written, or if another generation or job has
// claimed the place. Throws it before anything is written if an extra file has the name of the
// manifest or of one of `files`. `folder` is then the older checkpoint or the newer one, complete
// in either case.
void commit_checkpoint(const std::filesystem::path& folder,
                       const std::vector<CheckpointFile>& files, const CommitOptions& options);

}  // namespace accel::runtime
