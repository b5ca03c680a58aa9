#include "agent/probe/gpus.h"

#include <dlfcn.h>

#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace accel::agent {
namespace {

// The entry points of NVML that are used here, as declared in its manual.
using Device = void*;
struct Memory {
  uint64_t total, free, used;
};
struct Nvml {
  int (*init)();
  int (*shutdown)();
  int (*count)(unsigned*);
  int (*device)(unsigned, Device*);
  int (*uuid)(Device, char*, unsigned);
  int (*name)(Device, char*, unsigned);
  int (*memory)(Device, Memory*);
  const char* (*error)(int);
};

template <typename Function>
bool Load(void* library, const char* symbol, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, symbol));
  return *function != nullptr;
}

bool LoadAll(void* library, Nvml* nvml) {
  return Load(library, "nvmlInit_v2", &nvml->init) &&
         Load(library, "nvmlShutdown", &nvml->shutdown) &&
         Load(library, "nvmlDeviceGetCount_v2", &nvml->count) &&
         Load(library, "nvmlDeviceGetHandleByIndex_v2", &nvml->device) &&
         Load(library, "nvmlDeviceGetUUID", &nvml->uuid) &&
         Load(library, "nvmlDeviceGetName", &nvml->name) &&
         Load(library, "nvmlDeviceGetMemoryInfo", &nvml->memory) &&
         Load(library, "nvmlErrorString", &nvml->error);
}

absl::StatusOr<std::vector<v1::Gpu>> Query(const Nvml& nvml) {
  const auto failed = [&](const char* call, int code) {
    return absl::InternalError(
        absl::StrCat("the NVIDIA driver's ", call, " failed: ", nvml.error(code)));
  };
  unsigned count = 0;
  if (const int code = nvml.count(&count); code != 0) return failed("device count", code);
  std::vector<v1::Gpu> gpus;
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    char uuid[96] = "";
    char name[96] = "";
    Memory memory = {};
    if (const int code = nvml.device(i, &device); code != 0) return failed("device handle", code);
    if (const int code = nvml.uuid(device, uuid, sizeof(uuid)); code != 0)
      return failed("UUID", code);
    if (const int code = nvml.name(device, name, sizeof(name)); code != 0)
      return failed("name", code);
    if (const int code = nvml.memory(device, &memory); code != 0) return failed("memory", code);
    v1::Gpu& gpu = gpus.emplace_back();
    gpu.set_index(static_cast<int>(i));
    gpu.set_uuid(uuid);
    gpu.set_name(name);
    gpu.set_memory_bytes(static_cast<int64_t>(memory.total));
  }
  return gpus;
}

const v1::Gpu* Find(const std::vector<v1::Gpu>& gpus, absl::string_view entry) {
  int index = 0;
  const bool is_index = absl::SimpleAtoi(entry, &index);
  for (const v1::Gpu& gpu : gpus) {
    if (is_index ? gpu.index() == index : !entry.empty() && absl::StartsWith(gpu.uuid(), entry))
      return &gpu;
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<std::vector<v1::Gpu>> ListGpus(const std::string& library) {
  // Never unloaded, because the driver keeps its own threads and exit handlers.
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return std::vector<v1::Gpu>();
  Nvml nvml;
  if (!LoadAll(handle, &nvml)) {
    return absl::InternalError(absl::StrCat(
        library, " lacks a function that every NVML has: reinstall the NVIDIA driver"));
  }
  if (const int code = nvml.init(); code != 0) {
    return absl::InternalError(
        absl::StrCat("the NVIDIA driver does not answer: ", nvml.error(code)));
  }
  absl::StatusOr<std::vector<v1::Gpu>> gpus = Query(nvml);
  nvml.shutdown();
  return gpus;
}

std::vector<v1::Gpu> VisibleGpus(const std::vector<v1::Gpu>& all,
                                 const std::optional<std::string>& cuda_visible_devices) {
  if (!cuda_visible_devices.has_value()) return all;
  std::vector<v1::Gpu> visible;
  for (absl::string_view entry : absl::StrSplit(*cuda_visible_devices, ',')) {
    const v1::Gpu* gpu = Find(all, absl::StripAsciiWhitespace(entry));
    if (gpu == nullptr) break;
    visible.push_back(*gpu);
  }
  return visible;
}

}  // namespace accel::agent
