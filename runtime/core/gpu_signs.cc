#include "runtime/core/gpu_signs.h"

namespace accel::runtime {
namespace {

// Returns true if the first entry is an index or looks like "GPU-..." or "MIG-...".
bool names_a_device(const std::string& visible) {
  const std::size_t begin = visible.find_first_not_of(" \t");
  if (begin == std::string::npos) return false;
  const char first = visible[begin];
  return (first >= '0' && first <= '9') || first == 'G' || first == 'M';
}

}  // namespace

bool may_have_gpu(const GpuSigns& signs) {
  if (signs.visible_devices && !names_a_device(*signs.visible_devices)) return false;
  return signs.nvidia_device || (signs.wsl_device && signs.wsl_driver);
}

}  // namespace accel::runtime
