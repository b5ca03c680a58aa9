// The table of `accel estimate-memory`.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cli/estimate/core/model_sizes.h"

namespace accel::cli {

// Returns true for float32, float16, int8 and int4.
bool IsDtype(absl::string_view name);

// Returns bytes as Accelerate prints them: "86.47 MB".
std::string HumanBytes(double bytes);

// Returns a row for each of the dtypes float32, float16, int8 and int4: the largest layer, the
// whole model, and training with Adam.
std::string MemoryTable(absl::string_view model, const ModelSizes& sizes,
                        const std::vector<std::string>& dtypes);

// Returns the facts of MemoryTable() as JSON, with sizes in bytes (docs/json.md).
std::string MemoryJson(absl::string_view model, const ModelSizes& sizes,
                       const std::vector<std::string>& dtypes);

}  // namespace accel::cli
