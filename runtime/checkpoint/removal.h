// Deletes a checkpoint so that a crash in between never leaves a folder that looks complete.
#pragma once

#include <filesystem>

namespace accel::runtime {

// Deletes the manifest of `folder` first and then the rest: a folder without a manifest is
// not a checkpoint, however much of it is left. Deletes only the link if `folder` is a
// symbolic link. Throws std::filesystem::filesystem_error.
void delete_checkpoint(const std::filesystem::path& folder);

// Deletes a checkpoint that is no longer needed. If it cannot be deleted, the file and the reason
// are logged to standard error, because only disk space is lost. First renames the folder to a
// partial checkpoint, so that a later save deletes what a crash leaves of it.
void delete_checkpoint_or_log(const std::filesystem::path& folder);

}  // namespace accel::runtime
