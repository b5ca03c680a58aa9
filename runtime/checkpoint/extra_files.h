// The files in a checkpoint's folder that save_state() does not write itself.
//
// There are two kinds. Extra files are put into the partial folder before the commit, by hooks of
// save_state(): they become part of the checkpoint and are listed in its manifest. Unlisted files
// are put into a committed checkpoint by the user: no manifest lists them, and they are carried
// over when a save replaces the checkpoint, because nothing of the user's is deleted. `partial` and
// `folder` are resolved paths (folder_paths.h).
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint_file.h"
#include "runtime/core/manifest.h"

namespace accel::runtime {

// Throws CheckpointError if an extra file in `partial` has the name of the manifest or of one of
// `files`, which would overwrite it. Called before anything is written.
void check_extra_names(const std::filesystem::path& partial,
                       const std::vector<CheckpointFile>& files);

// Makes all extra files in `partial` durable and returns their facts by path in `partial`. Leaves
// out the files `except`, which other ranks may be writing there. Throws CheckpointError for
// anything that is neither a file nor a folder, and if a file cannot be read or synced.
std::map<std::string, FileFacts> sync_extra_files(const std::filesystem::path& partial,
                                                  const std::set<std::string>& except = {});

// Gives each unlisted file of the older checkpoint `folder` a second name in `partial` (hard links)
// and makes the folders among them durable; symbolic links are copied as links. If the older
// manifest is damaged, all files that `partial` does not have are carried over, because they cannot
// be told apart. Throws std::filesystem::filesystem_error, CheckpointError.
void carry_over_unlisted_files(const std::filesystem::path& folder,
                               const std::filesystem::path& partial);

}  // namespace accel::runtime
