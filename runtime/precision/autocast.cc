#include "runtime/precision/autocast.h"

#include "runtime/precision/autocast_use.h"
#include "runtime/precision/libtorch.h"

namespace accel::runtime {

namespace autocast = at::autocast;

AutocastScope::AutocastScope(c10::DeviceType device, MixedPrecision precision,
                             const AutocastOptions& options)
    : device_(device) {
  if (precision == MixedPrecision::kNo) return;
  enter_autocast();
  before_ = {.enabled = autocast::is_autocast_enabled(device),
             .cache_enabled = autocast::is_autocast_cache_enabled(),
             .dtype = autocast::get_autocast_dtype(device)};
  autocast::set_autocast_enabled(device, options.enabled);
  autocast::set_autocast_dtype(device,
                               precision == MixedPrecision::kFp16 ? at::kHalf : at::kBFloat16);
  autocast::increment_nesting();
  autocast::set_autocast_cache_enabled(options.cache_enabled.value_or(before_->cache_enabled));
}

AutocastScope::~AutocastScope() {
  if (!before_) return;
  leave_autocast();
  // Cached casts of parameters would be stale after the next optimizer step.
  if (autocast::decrement_nesting() == 0) autocast::clear_cache();
  autocast::set_autocast_enabled(device_, before_->enabled);
  autocast::set_autocast_dtype(device_, before_->dtype);
  autocast::set_autocast_cache_enabled(before_->cache_enabled);
}

at::Tensor to_fp32(const at::Tensor& tensor) {
  const bool reduced = tensor.defined() &&
                       (tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kBFloat16);
  return reduced ? tensor.to(at::kFloat) : tensor;
}

}  // namespace accel::runtime
