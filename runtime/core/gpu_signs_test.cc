#include "runtime/core/gpu_signs.h"

#include <gtest/gtest.h>

namespace accel::runtime {
namespace {

constexpr const char* kAllGpus[] = {"0", "1,0", " 2", "GPU-8932f937", "MIG-f3a1", "0,-1", "00"};
constexpr const char* kNoGpu[] = {"", " ", "-1", "-1,0", ",0", "NoDevFiles", "none", "void"};

TEST(GpuSignsTest, OnLinuxTheDriverIsEnough) {
  EXPECT_TRUE(may_have_gpu({.nvidia_device = true}));
  EXPECT_FALSE(may_have_gpu({}));
}

// /dev/dxg alone may be a GPU of another vendor.
TEST(GpuSignsTest, WslNeedsNvidiasDriverToo) {
  EXPECT_TRUE(may_have_gpu({.wsl_device = true, .wsl_driver = true}));
  EXPECT_FALSE(may_have_gpu({.wsl_device = true}));
  EXPECT_FALSE(may_have_gpu({.wsl_driver = true}));
}

TEST(GpuSignsTest, HidingEveryGpuMeansNone) {
  for (const char* visible : kAllGpus) {
    EXPECT_TRUE(may_have_gpu({.nvidia_device = true, .visible_devices = visible})) << visible;
    EXPECT_FALSE(may_have_gpu({.visible_devices = visible})) << visible;
  }
  for (const char* visible : kNoGpu) {
    EXPECT_FALSE(may_have_gpu({.nvidia_device = true, .visible_devices = visible})) << visible;
    EXPECT_FALSE(may_have_gpu({.wsl_device = true, .wsl_driver = true, .visible_devices = visible}))
        << visible;
  }
}

}  // namespace
}  // namespace accel::runtime
