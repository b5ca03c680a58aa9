// The form in which a verified checkpoint holds the tensors of a model: in one file, or in parts
// that ranks have written (docs/decisions/0072).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/core/manifest.h"
#include "weights/saved_folder.h"

namespace accel::runtime {

// Decides by the manifest and not by what lies in the folder. A program may keep its own files and
// folders there, whose content is not verified.
class SavedForm {
 public:
  // Reads the manifest of a checkpoint. Throws CheckpointError.
  explicit SavedForm(std::filesystem::path checkpoint);

  // Returns true if the manifest lists parts in the folder of this name.
  bool has_parts(const std::string& folder) const { return !parts_in(folder).empty(); }
  // Returns true if the manifest lists the file of this name.
  bool has_file(const std::string& file) const { return manifest_.files.contains(file); }
  // Opens the parts, or the file if there are none. Throws CheckpointError.
  weights::SavedFolder open(const std::string& folder, const std::string& file) const;

 private:
  // Returns the file names of the parts, relative to the folder.
  std::vector<std::string> parts_in(const std::string& folder) const;

  const std::filesystem::path checkpoint_;
  const Manifest manifest_;
};

}  // namespace accel::runtime
