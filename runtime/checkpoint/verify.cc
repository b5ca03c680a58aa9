#include "runtime/checkpoint/verify.h"

#include <algorithm>
#include <vector>

#include "accel/errors.h"
#include "runtime/checkpoint/file_reader.h"
#include "runtime/checkpoint/folder_paths.h"
#include "runtime/checkpoint/replacement.h"
#include "runtime/core/checkpoint_layout.h"

namespace accel::runtime {
namespace fs = std::filesystem;

Manifest read_manifest(const fs::path& folder) {
  const fs::path file = folder / kManifestFile;
  if (!fs::exists(file)) {
    throw DamageError(folder.string() + ": it is not a complete checkpoint: it has no " +
                      kManifestFile);
  }
  return parse_manifest(read_text(file, kMaxManifest), file.string());
}

Manifest verify_checkpoint(const fs::path& given) try {
  const fs::path folder = resolved_folder(given);
  finish_interrupted_exchange(folder);
  if (!fs::is_directory(folder)) {
    throw DamageError(folder.string() + ": there is no such checkpoint");
  }
  const Manifest manifest = read_manifest(folder);
  for (const auto& [name, listed] : manifest.files) {
    if (const auto damage = damage_of(listed, facts_of(folder / name))) {
      throw DamageError((folder / name).string() + ": it is " + *damage +
                        ". The checkpoint cannot be used: load an earlier one");
    }
  }
  return manifest;
} catch (const fs::filesystem_error& error) {
  throw CheckpointError(given.string() + ": cannot be read: " + error.what());
}

std::optional<FoundCheckpoint> newest_checkpoint(
    const fs::path& parent, const std::function<void(const std::string& reason)>& skipped) try {
  for (const std::string& name : checkpoints_with_suffix(names_in(parent), kReplacedSuffix)) {
    finish_interrupted_exchange(parent / name);
  }
  std::vector<std::string> names = checkpoints_among(names_in(parent));
  std::reverse(names.begin(), names.end());
  std::string damaged;
  for (const std::string& name : names) {
    try {
      return FoundCheckpoint{parent / name, verify_checkpoint(parent / name)};
    } catch (const DamageError& error) {
      skipped(error.what());
    }
    // A folder without a manifest was never complete, or another program made it.
    if (fs::exists(parent / name / kManifestFile)) damaged += (damaged.empty() ? "" : ", ") + name;
  }
  if (damaged.empty()) return std::nullopt;
  throw CheckpointError(parent.string() + ": all of its checkpoints are damaged (" + damaged +
                        "): move them away to start from scratch");
} catch (const fs::filesystem_error& error) {
  throw CheckpointError(parent.string() + ": cannot be read: " + error.what());
}

}  // namespace accel::runtime
