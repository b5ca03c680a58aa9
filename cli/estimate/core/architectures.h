// Computes the tensors of models with common architectures from their config.json.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/estimate/core/model_sizes.h"

namespace accel::cli {

// Returns "bert, distilbert, … and vit".
std::string KnownArchitectures();

// Returns the parameters and buffers of the model that Transformers' AutoModel makes, which has no
// head. One tensor may stand for several matrices of a module. INVALID_ARGUMENT: `json` is
// malformed, a number is missing or out of range, or the architecture is not known. The message
// then lists the known architectures.
absl::StatusOr<std::vector<TensorSize>> TensorsOfConfig(absl::string_view file,
                                                        absl::string_view json);

}  // namespace accel::cli
