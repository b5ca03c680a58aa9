#pragma once

#include <cstdint>
#include <optional>

#include "accel/options.h"

namespace at {
class Tensor;
}
namespace c10 {
enum class DeviceType : std::int8_t;
enum class ScalarType : std::int8_t;
}  // namespace c10

namespace accel::runtime {

// While it lives, this thread's operations on `device` that LibTorch considers safe run in the
// given precision, as under torch.autocast. The destructor restores the state before. Does nothing
// with kNo. Scopes nest, and must end in reverse order.
class AutocastScope {
 public:
  AutocastScope(c10::DeviceType device, MixedPrecision precision,
                const AutocastOptions& options = {});
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  struct Before {
    bool enabled;
    bool cache_enabled;
    c10::ScalarType dtype;
  };

  c10::DeviceType device_;
  std::optional<Before> before_;  // std::nullopt with kNo.
};

// Converts an fp16 or bf16 tensor to fp32. Returns others, and undefined ones, unchanged.
at::Tensor to_fp32(const at::Tensor& tensor);

}  // namespace accel::runtime
