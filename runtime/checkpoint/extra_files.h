// The files in a checkpoint's folder that save_state() does not write itself.
//
// There are two kinds. Extra files are put into the partial folder before the commit, by hooks of
// save_state(). They become part of the checkpoint and are listed in its manifest. Unlisted files
// are put into a committed checkpoint by the user, and no manifest lists them. When a save replaces
// the checkpoint, they are carried over, because no file of the user is deleted. `partial` and
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
// `files`, because the checkpoint would overwrite it. Called before anything is written.
void check_extra_names(const std::filesystem::path& partial,
                       const std::vector<CheckpointFile>& files);

// Makes all extra files in `partial` durable and returns their facts by path in `partial`. Leaves
// out the files `except`, which other ranks may be writing there. Throws CheckpointError for
// anything that is neither a file nor a folder, and if a file cannot be read or synced.
std::map<std::string, FileFacts> sync_extra_files(const std::filesystem::path& partial,
                                                  const std::set<std::string>& except = {});

// Gives each unlisted file of the older checkpoint `folder` a second name in `partial` (hard links)
// and makes the folders among them durable. Copies symbolic links as links. If the older manifest
// cannot be read, carries over all files that `partial` does not have, because listed and unlisted
// ones cannot be told apart. Throws std::filesystem::filesystem_error, CheckpointError.
void carry_over_unlisted_files(const std::filesystem::path& folder,
                               const std::filesystem::path& partial);

}  // namespace accel::runtime
