#include "runtime/checkpoint/folder_paths.h"

#include <system_error>

#include "accel/errors.h"
#include "runtime/core/checkpoint_layout.h"

namespace accel::runtime {
namespace fs = std::filesystem;

fs::path resolved_folder(const fs::path& folder) {
  const fs::path normal = fs::absolute(folder).lexically_normal();
  const fs::path without_slash = normal.has_filename() ? normal : normal.parent_path();
  std::error_code error;
  if (!fs::is_symlink(without_slash, error)) return without_slash;
  const fs::path target = fs::canonical(without_slash, error);
  return error ? without_slash : target;  // A later use of the link reports what is wrong.
}

fs::path partial_folder(const fs::path& folder) {
  return resolved_folder(folder).string() + kPartialSuffix;
}

std::vector<std::string> names_in(const fs::path& folder) try {
  std::vector<std::string> names;
  if (!fs::exists(folder)) return names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
} catch (const fs::filesystem_error& error) {
  throw CheckpointError(folder.string() + ": cannot be read: " + error.code().message());
}

}  // namespace accel::runtime
