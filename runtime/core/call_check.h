// Checks in debug mode that all ranks are about to take part in the same collective. Without this
// check, a rank that calls another collective, or brings another shape, blocks the others or
// corrupts their data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "accel/errors.h"

namespace accel::runtime {

// The collective that one rank is about to call, and the tensors that it brings.
struct CallShape {
  std::string operation;
  struct Tensor {
    std::string dtype;
    std::vector<std::int64_t> sizes;
    bool operator==(const Tensor&) const = default;
  };
  std::vector<Tensor> tensors = {};
  // The dimension in which the ranks may differ, counted from the last one if negative. Unset
  // for most operations.
  std::optional<std::int64_t> free_dimension = {};
};

// Returns one line, such as "gather: Long [2, 3], Float []". Calls that fit together have equal
// lines: the free dimension is written as "*".
std::string describe(const CallShape& call);

// Compares the describe() lines of all ranks, given in rank order. Returns nullopt if they are
// equal. Otherwise returns an error text that names the ranks which differ from the most common
// line, and lists the lines of all ranks.
std::optional<std::string> describe_mismatch(const std::vector<std::string>& calls);

}  // namespace accel::runtime
