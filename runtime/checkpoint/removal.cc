#include "runtime/checkpoint/removal.h"

#include <iostream>
#include <string>

#include "runtime/core/checkpoint_layout.h"

namespace accel::runtime {
namespace fs = std::filesystem;

void delete_checkpoint(const fs::path& folder) {
  if (fs::is_symlink(folder)) {
    fs::remove(folder);
    return;
  }
  fs::remove(folder / kManifestFile);
  fs::remove_all(folder);
}

void delete_checkpoint_or_log(const fs::path& folder) {
  try {
    const bool is_partial = folder.string().ends_with(kPartialSuffix);
    const fs::path partial = is_partial ? folder : fs::path(folder.string() + kPartialSuffix);
    if (!is_partial) fs::rename(folder, partial);
    delete_checkpoint(partial);
  } catch (const fs::filesystem_error& error) {
    std::cerr << "accel: could not delete old checkpoint: " << error.what() << std::endl;
  }
}

}  // namespace accel::runtime
