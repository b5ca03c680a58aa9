#include "runtime/comm/element_reduction.h"

#include <algorithm>
#include <cstdint>

namespace accel::runtime {
namespace {

struct Sum {
  template <typename T>
  static T apply(T a, T b) {
    return a + b;
  }
};
struct Min {
  template <typename T>
  static T apply(T a, T b) {
    return std::min(a, b);
  }
};
struct Max {
  template <typename T>
  static T apply(T a, T b) {
    return std::max(a, b);
  }
};

template <typename T, typename Operation>
void for_elements(void* out, const void* a, const void* b, std::size_t elements) {
  auto* to = static_cast<T*>(out);
  const auto* left = static_cast<const T*>(a);
  const auto* right = static_cast<const T*>(b);
  for (std::size_t i = 0; i < elements; ++i) to[i] = Operation::apply(left[i], right[i]);
}

template <typename T>
ElementReduction reduction_of(const c10d::ReduceOp& operation, std::uint32_t type) {
  ReduceFunction function = nullptr;
  switch (operation) {
    case c10d::ReduceOp::SUM:
    case c10d::ReduceOp::AVG:
      function = for_elements<T, Sum>;
      break;
    case c10d::ReduceOp::MIN:
      function = for_elements<T, Min>;
      break;
    case c10d::ReduceOp::MAX:
      function = for_elements<T, Max>;
      break;
    default:
      break;
  }
  const auto code = static_cast<std::uint32_t>(static_cast<c10d::ReduceOp::RedOpType>(operation));
  return {.function = function, .element_size = sizeof(T), .code = type << 8 | code};
}

}  // namespace

ElementReduction element_reduction(at::ScalarType dtype, const c10d::ReduceOp& operation) {
  const auto type = static_cast<std::uint32_t>(dtype);
  switch (dtype) {
    case at::kFloat:
      return reduction_of<float>(operation, type);
    case at::kDouble:
      return reduction_of<double>(operation, type);
    case at::kHalf:
      return reduction_of<at::Half>(operation, type);
    case at::kBFloat16:
      return reduction_of<at::BFloat16>(operation, type);
    case at::kChar:
      return reduction_of<std::int8_t>(operation, type);
    case at::kByte:
      return reduction_of<std::uint8_t>(operation, type);
    case at::kBool:
      // The sum is the maximum, as in NCCL. Gloo's sums are bytes above 1, which are not bools.
      return reduction_of<std::uint8_t>(
          operation == c10d::ReduceOp::SUM ? c10d::ReduceOp(c10d::ReduceOp::MAX) : operation, type);
    case at::kInt:
      return reduction_of<std::int32_t>(operation, type);
    case at::kLong:
      return reduction_of<std::int64_t>(operation, type);
    default:
      return {};
  }
}

}  // namespace accel::runtime
