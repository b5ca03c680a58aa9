// Converts a configuration file from version 1 of FSDP to version 2.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/config/core/document.h"
#include "cli/config/core/write_config.h"

namespace accel::cli {

struct Fsdp2Config {
  bool is_converted = false;  // False if there was nothing to convert.
  ConfigTree tree;
  // A sentence for each key that the conversion has removed or changed.
  std::vector<std::string> notes;
};

// Converts by the rules of `accelerate to-fsdp2`. In addition, it reads sharding strategies
// in every spelling, replaces values that version 2 refuses, and notes where replication is
// lost. Unknown keys are kept. INVALID_ARGUMENT: a value is not a sharding strategy; the
// message has its place.
absl::StatusOr<Fsdp2Config> ConvertToFsdp2(absl::string_view file, const Node& root);

}  // namespace accel::cli
