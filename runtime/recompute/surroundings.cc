#include "runtime/recompute/surroundings.h"

#include <ATen/autocast_mode.h>

#include <set>

#include "runtime/process/generator_state.h"

namespace accel::runtime {

Surroundings::Surroundings(const std::vector<at::Tensor>& tensors) {
  std::set<c10::DeviceType> types = {c10::kCPU};
  generators_.emplace_back(c10::kCPU, generator_state(c10::kCPU));
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.defined() || tensor.is_cpu()) continue;
    types.insert(tensor.device().type());
    if (!tensor.is_cuda() || generators_.size() > 1) continue;
    generators_.emplace_back(tensor.device(), generator_state(tensor.device()));
  }
  for (const c10::DeviceType type : types) {
    if (type != c10::kCPU && type != c10::kCUDA) continue;
    autocast_.push_back({.type = type,
                         .is_enabled = at::autocast::is_autocast_enabled(type),
                         .dtype = at::autocast::get_autocast_dtype(type)});
  }
}

void Surroundings::restore() const {
  for (const auto& [device, state] : generators_) set_generator_state(device, state);
  for (const Autocast& one : autocast_) {
    at::autocast::set_autocast_enabled(one.type, one.is_enabled);
    at::autocast::set_autocast_dtype(one.type, one.dtype);
  }
}

NoCastCache::NoCastCache() : was_enabled_(at::autocast::is_autocast_cache_enabled()) {
  at::autocast::set_autocast_cache_enabled(false);
}

NoCastCache::~NoCastCache() { at::autocast::set_autocast_cache_enabled(was_enabled_); }

}  // namespace accel::runtime
