#include "agent/probe/inventory.h"

#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "agent/probe/gpus.h"
#include "common/status_macros.h"

namespace accel::agent {

absl::StatusOr<v1::Inventory> ProbeInventory(bool with_gpus) {
  v1::Inventory inventory;
  cpu_set_t allowed;
  const bool known = sched_getaffinity(0, sizeof(allowed), &allowed) == 0;
  inventory.set_cpus(known ? CPU_COUNT(&allowed) : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  inventory.set_memory_bytes(int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE));
  if (!with_gpus) return inventory;
  ACCEL_ASSIGN_OR_RETURN(const std::vector<v1::Gpu> gpus, ListGpus());
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::optional<std::string> mask =
      visible == nullptr ? std::nullopt : std::optional<std::string>(visible);
  for (const v1::Gpu& gpu : VisibleGpus(gpus, mask)) *inventory.add_gpus() = gpu;
  return inventory;
}

std::string HostName() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name;
}

}  // namespace accel::agent
