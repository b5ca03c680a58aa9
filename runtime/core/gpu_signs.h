// Decides whether to load the CUDA libraries, which costs a worker 0.1 s and 350 MB of memory.
#pragma once

#include <optional>
#include <string>

namespace accel::runtime {

struct GpuSigns {
  // /dev/nvidiactl exists: the control device of NVIDIA's driver for Linux.
  bool nvidia_device = false;
  // /dev/dxg exists: the device of WSL2 for the GPUs of its Windows host, of any vendor.
  bool wsl_device = false;
  // The CUDA driver exists that NVIDIA's driver for Windows provides to WSL2.
  bool wsl_driver = false;
  // CUDA_VISIBLE_DEVICES, if it is set.
  std::optional<std::string> visible_devices = {};
};

// Returns false if this process has no NVIDIA GPU, or if visible_devices hides all of them.
// CUDA ignores all entries of that list from the first one that names no device, so "" and "-1"
// hide every GPU.
bool may_have_gpu(const GpuSigns& signs);

}  // namespace accel::runtime
