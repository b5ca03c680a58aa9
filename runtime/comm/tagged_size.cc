#include "runtime/comm/tagged_size.h"

#include <stdexcept>
#include <string>

namespace accel::runtime {
namespace {

constexpr int kTagShift = 40;
// 23 bits, so that the number stays positive. Neither a small integer nor a common floating-point
// number has this pattern.
constexpr std::int64_t kTag = 0x531ce5;

}  // namespace

std::int64_t tagged_size(std::size_t bytes) {
  if (bytes > kMaxTaggedSize) {
    throw std::length_error("cannot exchange " + std::to_string(bytes) +
                            " bytes in one call: the limit is " + std::to_string(kMaxTaggedSize));
  }
  return kTag << kTagShift | static_cast<std::int64_t>(bytes);
}

std::optional<std::size_t> untagged_size(std::int64_t number) {
  if (number >> kTagShift != kTag) return std::nullopt;
  return static_cast<std::size_t>(number) & kMaxTaggedSize;
}

}  // namespace accel::runtime
