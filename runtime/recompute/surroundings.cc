#include "runtime/recompute/surroundings.h"

#include <algorithm>
#include <set>

#include "runtime/process/generator_state.h"

namespace accel::runtime {

Surroundings::Surroundings(const std::vector<at::Tensor>& tensors) {
  // The function may use the current GPU although all of its arguments are on the CPU.
  std::vector<c10::Device> devices = {c10::kCPU};
  if (at::hasCUDA()) devices.push_back(c10::impl::VirtualGuardImpl(c10::kCUDA).getDevice());
  for (const at::Tensor& tensor : tensors) {
    if (tensor.defined() && tensor.is_cuda()) devices.push_back(tensor.device());
  }
  std::set<c10::DeviceType> types;
  for (auto device = devices.begin(); device != devices.end(); ++device) {
    types.insert(device->type());
    if (std::find(devices.begin(), device, *device) != device) continue;
    generators_.emplace_back(*device, generator_state(*device));
  }
  for (const c10::DeviceType type : types) {
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
