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

namespace accel {

// While it lives, this thread's operations on `device` that LibTorch knows to be safe run in the
// given precision, as under torch.autocast; the state before comes back when it ends. Nothing at
// all with kNo. Scopes nest, and end in the reverse order.
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
  std::optional<Before> before_;  // None with kNo.
};

// fp32 of an fp16 or bf16 tensor; others, and undefined ones, as they are.
at::Tensor to_fp32(const at::Tensor& tensor);

}  // namespace accel
