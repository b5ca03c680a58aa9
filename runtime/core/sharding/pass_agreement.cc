#include "runtime/core/sharding/pass_agreement.h"

#include <cstddef>

namespace accel::runtime {

// The first two numbers are the digest of this rank's trace and its negative: the maxima of both
// belong to one digest if, and only if, all digests are equal. The third one is 1 if this rank has
// computed activations again.
std::vector<std::int64_t> pass_numbers(std::int64_t digest, bool has_recomputed,
                                       const ArrivedGradients& has_gradient) {
  std::vector<std::int64_t> numbers = {digest, -digest, has_recomputed};
  for (const auto& unit : has_gradient) numbers.insert(numbers.end(), unit.begin(), unit.end());
  return numbers;
}

AgreedPass agreed_pass(std::span<const std::int64_t> maxima, const ArrivedGradients& shape) {
  AgreedPass pass{.has_equal_traces = maxima[0] == -maxima[1],
                  .has_recomputed = maxima[2] != 0,
                  .has_gradient = shape};
  std::size_t next = 3;
  for (auto& unit : pass.has_gradient) {
    for (std::size_t i = 0; i < unit.size(); ++i) unit[i] = maxima[next++] != 0;
  }
  return pass;
}

}  // namespace accel::runtime
