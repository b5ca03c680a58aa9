// The tree of a folder on this machine, which `accel submit --upload` sends.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "upload/core/tree.h"

namespace accel::upload {

struct LocalTree {
  std::string root;  // The folder, absolute and without links.
  Tree tree;
  // The paths that rules left out, relative to the root, sorted. Folders end with a slash.
  std::vector<std::string> left_out;
};

// Returns the tree of the folder `path`, without hashes. If `path` is a file, returns a tree of its
// folder with this file alone. Leaves out the files of a folder that upload/core/ignore_rules.h or
// its .accelignore excludes. Also leaves out Python's virtual environments, because they cannot be
// moved and have links that lead out of them. INVALID_ARGUMENT: also if .accelignore is malformed,
// or an entry is neither a file nor a folder nor a link. RESOURCE_EXHAUSTED: also if the folder has
// more than a million entries. Other errors are those of CheckTree(), and of the file system if a
// path cannot be read.
absl::StatusOr<LocalTree> ListTree(const std::string& path);

// Sets the hashes. Several threads read the files. Errors are those of ReadEntry().
absl::Status HashTree(LocalTree* local);

// Calls `take` with the pieces of a file of the tree. ABORTED: the file no longer has the size with
// which it was listed. Other errors are those of `take` and of the file system.
absl::Status ReadEntry(const LocalTree& local, const TreeEntry& entry,
                       const std::function<absl::Status(absl::string_view)>& take);

}  // namespace accel::upload
