// A configuration file as settings. Every key is known, has the right type, and occurs once.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/config/core/document.h"
#include "cli/config/core/setting.h"

namespace accel::cli {

struct FileSetting {
  const Setting* setting = nullptr;
  Value value;
  Mark mark;  // The place of the key.
};

struct ConfigFile {
  std::string path;
  std::vector<FileSetting> settings;  // In the order of the file.
  // A sentence for each key with an old name. It begins with "FILE:LINE:COLUMN: ".
  std::vector<std::string> notes;
};

// Reads a file of Accelerate. INVALID_ARGUMENT: malformed text, an unknown key, a key twice, a
// value of the wrong type, no distributed_type, or a service that accel does not drive. The message
// has a line for each of the first problems, with its place.
absl::StatusOr<ConfigFile> ReadConfig(absl::string_view path, absl::string_view text);

}  // namespace accel::cli
