// A checkpoint on the disk: a folder that is either complete or, for a reader, not there.
//
// It is written to the side, each file synced, the manifest last, and takes its name in one rename;
// only then may an older one go. A crash at any instant leaves the older one or the new one whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/manifest.h"

namespace accel {

using ByteSink = std::function<void(std::string_view)>;

struct CheckpointFile {
  std::string name;
  std::uint64_t expected_size = 0;  // About how many bytes it will have.
  std::function<void(const ByteSink&)>
      write;  // On any thread: gives the sink its bytes, part by part.
};

// Who writes: a launcher's job, and which of its worlds.
struct Claim {
  std::string job;
  std::uint64_t generation = 0;
};

struct CheckpointWrite {
  std::uint64_t iteration = 0;
  int num_processes = 1;
  // Compared, just before the commit, with the claim on the folder's parent.
  std::optional<Claim> claim = std::nullopt;
};

// `folder` as it is meant: absolute, and where it is a symbolic link that to which it leads. All of
// these functions use that, so that a link to a checkpoint stays one. Whoever calls several of them
// resolves it once, or it may lead elsewhere meanwhile.
std::filesystem::path resolved_folder(const std::filesystem::path& folder);

// What `folder` is called while it is being written.
std::filesystem::path partial_folder(const std::filesystem::path& folder);

// Makes the empty folder that will be `folder`, and returns it: until write_checkpoint() anyone may
// put files of his own there, which become part of the checkpoint. Throws std::invalid_argument if
// `folder` is there and is neither a checkpoint nor empty, or a file system is mounted there;
// CheckpointError if it cannot be made.
std::filesystem::path begin_checkpoint(const std::filesystem::path& folder);

// Writes a checkpoint that was begun, durably. An older one of that name is replaced; files in it
// that were no part of it stay. Throws CheckpointError if it cannot be written, others have put a
// file there that has the name of the manifest or of one of `files` (then nothing is written), or a
// later generation has claimed its parent; what is left of the older one is named on standard
// error.
void write_checkpoint(const std::filesystem::path& folder, const std::vector<CheckpointFile>& files,
                      const CheckpointWrite& how);

// The manifest of a checkpoint, each file of which was read and is as it was written. Throws
// DamageError that names the file which is not; CheckpointError if it cannot be known, since the
// system fails to read one or another version has written it.
Manifest verify_checkpoint(const std::filesystem::path& folder);

// The last of the checkpoints named checkpoint_N in `parent` that verify_checkpoint() accepts;
// `skipped` hears how others, which were passed over, are damaged. None if there is none. Throws
// CheckpointError where verify_checkpoint() cannot know, or if there are some and none is good: a
// run that began anew would in the end remove them.
struct FoundCheckpoint {
  std::filesystem::path folder;
  Manifest manifest;
};
std::optional<FoundCheckpoint> newest_checkpoint(
    const std::filesystem::path& parent,
    const std::function<void(const std::string& reason)>& skipped);

// One past the highest number in `parent`, damaged checkpoints included; 0 without any.
std::uint64_t first_free(const std::filesystem::path& parent);

// Removes checkpoints beside `written`, those with torn files and then the oldest, and what crashed
// saves have left there. A folder without a manifest that this version reads is no checkpoint: it
// does not count, and stays. What cannot be removed is named on standard error: `written` is no
// less good for it.
void remove_old_checkpoints(const std::filesystem::path& written,
                            std::optional<std::size_t> total_limit);

// From now on no earlier generation of this job, and no other job, commits a checkpoint in
// `parent`. Throws CheckpointError if a later generation of the same job has claimed it already.
void claim_checkpoints(const std::filesystem::path& parent, const Claim& claim);

}  // namespace accel
