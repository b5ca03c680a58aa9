#include "runtime/comm/nccl_backend.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "runtime/nccl/plugin.h"

namespace accel::runtime {
namespace {

bool is_mapped(const std::string& library) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(library) != std::string::npos) return true;
  }
  return false;
}

TEST(NcclBackendTest, WithoutADriverNoCudaLibraryIsLoaded) {
  if (access("/dev/nvidiactl", F_OK) == 0) GTEST_SKIP() << "this machine has an NVIDIA driver";
  EXPECT_EQ(load_cuda(), 0);
  EXPECT_TRUE(is_mapped("libtorch_cpu.so"));
  EXPECT_FALSE(is_mapped("libtorch_cuda.so"));
  EXPECT_THROW(make_nccl_backend({}, {}, std::chrono::seconds(1)), std::runtime_error);
  EXPECT_THROW(use_gpu(0), std::runtime_error);
  char memory[16];
  EXPECT_FALSE(lock_pages(memory, sizeof(memory)));
}

// Runs in a separate process, because the CUDA libraries are never unloaded.
TEST(NcclBackendDeathTest, TheSharedObjectLoadsWithAllItsLibraries) {
  const auto load_and_leave = [] {
    void* library = dlopen("runtime/nccl/libaccel_nccl.so", RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) std::fprintf(stderr, "%s\n", dlerror());
    const bool complete =
        library != nullptr && dlsym(library, kCountGpusSymbol) != nullptr &&
        dlsym(library, kUseGpuSymbol) != nullptr && dlsym(library, kLockPagesSymbol) != nullptr &&
        dlsym(library, kUnlockPagesSymbol) != nullptr &&
        dlsym(library, kMakeNcclBackendSymbol) != nullptr && is_mapped("libtorch_cuda.so");
    _exit(complete ? 0 : 1);
  };
  EXPECT_EXIT(load_and_leave(), testing::ExitedWithCode(0), "");
}

// The variables are set although ProcessGroupNCCL cannot be made without a GPU.
TEST(NcclBackendDeathTest, LibTorchsWatchdogIsQuietUnlessTheSubmitterWantsIt) {
  const auto make_and_leave = [] {
    setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1", 1);  // The launcher's.
    setenv("TORCH_NCCL_ENABLE_MONITORING", "true", 1);
    void* library = dlopen("runtime/nccl/libaccel_nccl.so", RTLD_NOW | RTLD_GLOBAL);
    const auto make = reinterpret_cast<MakeNcclBackend>(dlsym(library, kMakeNcclBackendSymbol));
    const auto store = c10::make_intrusive<c10d::HashStore>();
    try {
      make(store.get(), 0, 2, 1000);
    } catch (const std::exception&) {
    }
    const auto is = [](const char* name, const std::string& value) {
      const char* found = std::getenv(name);
      return found != nullptr && found == value;
    };
    const bool quiet = is("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0") &&
                       is("TORCH_NCCL_DUMP_ON_TIMEOUT", "0") &&
                       is("TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC", "0");
    _exit(quiet && is("TORCH_NCCL_ENABLE_MONITORING", "true") ? 0 : 1);
  };
  EXPECT_EXIT(make_and_leave(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace accel::runtime
