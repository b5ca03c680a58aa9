// The tensors of common architectures, from their config.json.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/estimate/core/model_sizes.h"

namespace accel::cli {

// Returns "bert, distilbert, … and vit".
std::string KnownArchitectures();

// Returns the parameters and buffers of the model without a head, as Transformers' AutoModel makes
// it. A module's matrices may be added up in one tensor. INVALID_ARGUMENT: malformed, a number is
// missing or out of range, or the architecture is not known; the message lists the known ones.
absl::StatusOr<std::vector<TensorSize>> TensorsOfConfig(absl::string_view file,
                                                        absl::string_view json);

}  // namespace accel::cli
