#include "cli/config/host_facts.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <system_error>
#include <thread>

#include "agent/probe/gpus.h"

namespace accel::cli {

int CountPhysicalCores(const std::string& folder) {
  std::set<std::string> cores;
  // The folder of an offline CPU has no topology, and the numbers of CPUs may have gaps.
  std::error_code error;
  for (std::filesystem::directory_iterator cpu(folder, error), end; !error && cpu != end;
       cpu.increment(error)) {
    // Every thread of a core has the same list of the core's threads.
    std::ifstream file(cpu->path() / "topology/core_cpus_list");
    std::string threads;
    if (std::getline(file, threads)) cores.insert(threads);
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
