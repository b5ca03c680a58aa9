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
  // What rules left out, relative to the root: folders with a slash at the end. Sorted.
  std::vector<std::string> left_out;
};

// Returns the tree of a folder, or of the folder of a single file with that file alone, without
// hashes. Leaves out what upload/core/ignore_rules.h says with the rules of .accelignore in the
// folder, and Python's virtual environments, which have links out of them and are not made to be
// moved. NOT_FOUND and the like: a path cannot be read. Others: CheckTree().
absl::StatusOr<LocalTree> ListTree(const std::string& path);

// Sets the hashes. Reads files with several threads. ABORTED: a file has changed since it was
// listed.
absl::Status HashTree(LocalTree* local);

// Calls `take` with the pieces of a file of the tree. ABORTED: it has changed since it was
// listed. Others: those of `take`.
absl::Status ReadEntry(const LocalTree& local, const TreeEntry& entry,
                       const std::function<absl::Status(absl::string_view)>& take);

}  // namespace accel::upload
