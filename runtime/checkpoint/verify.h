// Reads checkpoints against their manifests before they are used.
//
// There are two kinds of errors (docs/decisions/0016). DamageError means that a checkpoint is torn,
// corrupt or missing and will remain so. An older one may then be loaded instead. A plain
// CheckpointError means that this cannot be known: the system fails to read a file, which may be
// temporary, or another version of accel wrote it. Then nothing is skipped or deleted.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "runtime/core/manifest.h"

namespace accel::runtime {

// Reads the manifest of `folder`, a resolved path, and none of the files that it lists. Throws
// DamageError if there is no manifest or it is damaged; CheckpointError if it cannot be read or is
// of another version.
Manifest read_manifest(const std::filesystem::path& folder);

// Reads every file of the checkpoint `folder` and returns its manifest. Throws DamageError, which
// names the file, if a file is missing or differs from the manifest. Also throws it if `folder` is
// not a complete checkpoint. Throws CheckpointError as described above.
Manifest verify_checkpoint(const std::filesystem::path& folder);

struct FoundCheckpoint {
  std::filesystem::path folder;
  Manifest manifest;
};

// Returns the checkpoint_N in `parent` with the highest N that verify_checkpoint() accepts, or
// nullopt if there are no checkpoints. Calls `skipped` with the reason for each damaged one of a
// higher N. A folder without a manifest is skipped too, but does not count as a checkpoint. Throws
// CheckpointError as verify_checkpoint() does. Also throws it if there are checkpoints but all are
// damaged, because a run that started from scratch would in the end delete them.
std::optional<FoundCheckpoint> newest_checkpoint(
    const std::filesystem::path& parent,
    const std::function<void(const std::string& reason)>& skipped);

}  // namespace accel::runtime
