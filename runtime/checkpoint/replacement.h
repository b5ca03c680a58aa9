// Gives a complete folder its name in one step, so that a reader finds the older checkpoint or the
// newer one, and never neither. The paths are resolved ones (folder_paths.h).
#pragma once

#include <filesystem>

namespace accel::runtime {

// Renames `partial` to `folder`, which must not exist. Throws CheckpointError if it does or
// if the system refuses.
void take_new_name(const std::filesystem::path& partial, const std::filesystem::path& folder);

// Exchanges the names of `partial` and of the existing `folder`, so that the older checkpoint is
// then called `partial`. Uses one renameat2(RENAME_EXCHANGE). If the file system does not
// support that, uses three renames, and in between the older checkpoint is called
// `folder`.replaced. Throws CheckpointError.
void exchange_names(const std::filesystem::path& partial, const std::filesystem::path& folder);

// Repairs what a crash inside exchange_names() has left: gives the older checkpoint
// its name back, or deletes it if the newer one has taken the name. Does nothing if
// there was no such crash. Every reader and writer of `folder` calls this first.
// Throws CheckpointError, or std::filesystem::filesystem_error.
void finish_interrupted_exchange(const std::filesystem::path& folder);

}  // namespace accel::runtime
