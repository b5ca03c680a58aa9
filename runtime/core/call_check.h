// Whether all ranks are about to take part in the same collective.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "accel/errors.h"

namespace accel {

// What one rank brings to a collective.
struct CallShape {
  std::string operation;
  struct Tensor {
    std::string dtype;
    std::vector<std::int64_t> sizes;
    bool operator==(const Tensor&) const = default;
  };
  std::vector<Tensor> tensors = {};
  // A dimension in which the ranks may differ (negative: from the last); none for most operations.
  std::optional<std::int64_t> free_dimension = {};
};

// One line, such as "gather: int64 [2, 3], float32 []"; equal for ranks that fit together.
std::string describe(const CallShape& call);

// Given what describe() says on each rank: nothing if all say the same, else an error text with a
// table of all and the ranks that differ from the most common one.
std::optional<std::string> mismatch(const std::vector<std::string>& calls);

}  // namespace accel
