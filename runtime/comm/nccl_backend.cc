#include "runtime/comm/nccl_backend.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>

#include "runtime/core/gpu_signs.h"
#include "runtime/nccl/plugin.h"

namespace accel::runtime {
namespace {

constexpr char kLibrary[] = "libaccel_nccl.so";

bool exists(const char* path) { return access(path, F_OK) == 0; }

GpuSigns gpu_signs() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return {
      .nvidia_device = exists("/dev/nvidiactl"),
      .wsl_device = exists("/dev/dxg"),
      .wsl_driver = exists("/usr/lib/wsl/lib/libcuda.so.1"),
      .visible_devices = visible == nullptr ? std::nullopt : std::optional(std::string(visible))};
}

std::string find_library() {
  if (const char* path = std::getenv("ACCEL_NCCL_LIBRARY")) return path;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  const std::filesystem::path beside = program.parent_path() / kLibrary;
  const std::filesystem::path runfiles =
      program.string() + ".runfiles/accel/runtime/nccl/" + std::string(kLibrary);
  for (const std::filesystem::path& path : {beside, runfiles}) {
    if (std::filesystem::exists(path)) return path;
  }
  throw std::runtime_error(std::string("this machine has a GPU, but ") + kLibrary + " is neither " +
                           beside.string() + " nor " + runfiles.string() +
                           ": set ACCEL_NCCL_LIBRARY, or launch with --cpu");
}

struct Plugin {
  CountGpus count = nullptr;
  UseGpu use = nullptr;
  LockPages lock = nullptr;
  UnlockPages unlock = nullptr;
  MakeNcclBackend make = nullptr;
};

Plugin load_plugin() {
  if (!may_have_gpu(gpu_signs())) return {};
  const std::string path = find_library();
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  if (library == nullptr)
    throw std::runtime_error(std::string("cannot load accel's CUDA library: ") + dlerror());
  Plugin plugin{reinterpret_cast<CountGpus>(dlsym(library, kCountGpusSymbol)),
                reinterpret_cast<UseGpu>(dlsym(library, kUseGpuSymbol)),
                reinterpret_cast<LockPages>(dlsym(library, kLockPagesSymbol)),
                reinterpret_cast<UnlockPages>(dlsym(library, kUnlockPagesSymbol)),
                reinterpret_cast<MakeNcclBackend>(dlsym(library, kMakeNcclBackendSymbol))};
  if (plugin.count == nullptr || plugin.use == nullptr || plugin.lock == nullptr ||
      plugin.unlock == nullptr || plugin.make == nullptr) {
    throw std::runtime_error(path + " was built for another version of accel");
  }
  return plugin;
}

const Plugin& plugin() {
  static const Plugin loaded = load_plugin();
  return loaded;
}

}  // namespace

void preload_cuda() noexcept {
  try {
    plugin();
  } catch (const std::exception&) {
    // Ignored, because the next call of plugin() tries again, and throws to a caller.
  }
}

int load_cuda() { return plugin().count == nullptr ? 0 : plugin().count(); }

void use_gpu(int index) {
  if (plugin().use == nullptr) throw std::runtime_error("this machine has no GPU");
  plugin().use(index);
}

bool lock_pages(void* memory, std::size_t size) {
  return plugin().lock != nullptr && plugin().lock(memory, size);
}

void unlock_pages(void* memory) {
  if (plugin().unlock != nullptr) plugin().unlock(memory);
}

c10::intrusive_ptr<c10d::Backend> make_nccl_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                                    const Environment& environment,
                                                    std::chrono::milliseconds timeout) {
  if (plugin().make == nullptr)
    throw std::runtime_error("NCCL needs a GPU, and this machine has none");
  return c10::intrusive_ptr<c10d::Backend>::reclaim(
      plugin().make(store.get(), environment.rank, environment.world_size, timeout.count()));
}

}  // namespace accel::runtime
