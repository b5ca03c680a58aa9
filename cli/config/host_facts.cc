#include "cli/config/host_facts.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "agent/probe/gpus.h"

namespace accel::cli {

int CountPhysicalCores(const std::string& folder) {
  constexpr int kMaxCpus = 8192;
  std::set<std::string> cores;
  for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
    // Every thread of a core has the same list of the core's threads.
    std::ifstream file(absl::StrCat(folder, "/cpu", cpu, "/topology/core_cpus_list"));
    std::string threads;
    if (!std::getline(file, threads)) break;
    cores.insert(threads);
  }
  return static_cast<int>(cores.size());
}

HostFacts ReadHostFacts(const CallerContext& context, bool with_gpus) {
  HostFacts host;
  host.cwd = context.cwd;
  host.env = context.env;
  host.cpus = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  host.physical_cores = CountPhysicalCores("/sys/devices/system/cpu");
  if (host.physical_cores == 0) host.physical_cores = host.cpus;
  if (!with_gpus) return host;
  if (const auto gpus = agent::ListGpus(); gpus.ok()) {
    for (const v1::Gpu& gpu :
         agent::VisibleGpus(*gpus, context.env(common::kEnvCudaVisibleDevices))) {
      host.gpu_indexes.push_back(gpu.index());
    }
    host.gpus = static_cast<int>(host.gpu_indexes.size());
  }
  return host;
}

}  // namespace accel::cli
