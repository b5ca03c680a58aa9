// Whether it is worth loading the CUDA libraries, which costs a worker 0.1 s and 350 MB.
#pragma once

#include <optional>
#include <string>

namespace accel {

struct GpuSigns {
  bool nvidia_device = false;  // /dev/nvidiactl: the Linux driver's control device.
  bool wsl_device = false;     // /dev/dxg: a GPU of any make, of the Windows below WSL2.
  bool wsl_driver = false;     // The CUDA driver that NVIDIA's driver for Windows brings with it.
  std::optional<std::string> visible_devices = {};  // CUDA_VISIBLE_DEVICES.
};

// False if this process has no NVIDIA GPU, or is kept from all of them: CUDA sees the devices
// before the first name in visible_devices that is none, so that "" and "-1" hide all.
bool may_have_gpu(const GpuSigns& signs);

}  // namespace accel
