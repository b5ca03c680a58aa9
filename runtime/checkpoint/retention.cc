#include "runtime/checkpoint/retention.h"

#include <exception>
#include <iostream>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "accel/errors.h"
#include "runtime/checkpoint/folder_paths.h"
#include "runtime/checkpoint/removal.h"
#include "runtime/checkpoint/verify.h"
#include "runtime/core/checkpoint_layout.h"
#include "runtime/core/checkpoint_retention.h"

namespace accel::runtime {
namespace fs = std::filesystem;
namespace {

enum class Inspection { kNotACheckpoint, kIncomplete, kComplete };

// Compares only the sizes of the files with the manifest, because reading all checkpoints after
// every save would take too long. A file whose size the system fails to tell counts as present.
Inspection inspect(const fs::path& folder) {
  try {
    for (const auto& [name, listed] : read_manifest(folder).files) {
      std::error_code error;
      const std::uint64_t size = fs::file_size(folder / name, error);
      const bool is_known = !error || error == std::errc::no_such_file_or_directory;
      if (is_known && (error || size != listed.size)) return Inspection::kIncomplete;
    }
    return Inspection::kComplete;
  } catch (const std::exception&) {
    return Inspection::kNotACheckpoint;
  }
}

}  // namespace

void delete_old_checkpoints(const fs::path& written, std::optional<std::size_t> total_limit) try {
  const fs::path folder = resolved_folder(written), parent = folder.parent_path();
  const std::vector<std::string> names = names_in(parent);
  for (const std::string& name : checkpoints_with_suffix(names, kPartialSuffix)) {
    delete_checkpoint_or_log(parent / (name + kPartialSuffix));
  }
  if (!total_limit) return;
  std::vector<std::string> checkpoints;
  std::set<std::string> incomplete;
  for (const std::string& name : checkpoints_among(names)) {
    const Inspection found = inspect(parent / name);
    if (found != Inspection::kNotACheckpoint) checkpoints.push_back(name);
    if (found == Inspection::kIncomplete) incomplete.insert(name);
  }
  for (const std::string& name :
       checkpoints_to_delete(checkpoints, folder.filename(), total_limit, incomplete)) {
    delete_checkpoint_or_log(parent / name);
  }
} catch (const CheckpointError& error) {
  std::cerr << "accel: could not delete old checkpoints: " << error.what() << std::endl;
}

}  // namespace accel::runtime
