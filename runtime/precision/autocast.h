// Mixed precision by LibTorch's autocast, for prepared models and Accelerator::autocast().
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

// While the scope lives, this thread's operations on `device` run in the given precision if
// LibTorch considers that safe, as under torch.autocast. The destructor restores the previous
// state. With kNo the scope does nothing. Scopes nest, and must end in reverse order, in the thread
// that began them.
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
  std::optional<Before> before_;  // nullopt with kNo.
};

// Converts an fp16 or bf16 tensor to fp32. Returns any other or undefined tensor unchanged.
at::Tensor to_fp32(const at::Tensor& tensor);

}  // namespace accel::runtime
