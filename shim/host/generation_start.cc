#include "shim/host/generation_start.h"

#include "absl/time/time.h"
#include "logs/log_paths.h"
#include "process/job_cgroup.h"

namespace accel::shim {

StartCommand CompleteStart(StartCommand start, const ShimRecord& shim,
                           const process::CgroupSupport& cgroups, const std::string& spill_dir) {
  if (start.max_processes == 0) start.max_processes = cgroups.max_processes;
  if (shim.uid != 0) {
    start.cgroup = process::GenerationCgroup(shim.job_cgroup, start.id.generation);
    start.memory_cgroup = process::GenerationCgroup(shim.job_memory_cgroup, start.id.generation);
    start.pids_cgroup = process::GenerationCgroup(shim.job_pids_cgroup, start.id.generation);
    return start;
  }
  if (start.cgroup.empty()) start.cgroup = cgroups.PathFor(start.id);
  if (start.memory_cgroup.empty()) start.memory_cgroup = cgroups.MemoryPathFor(start.id);
  if (start.pids_cgroup.empty()) start.pids_cgroup = cgroups.PidsPathFor(start.id);
  if (!spill_dir.empty()) {
    start.spill_dir = logs::GenerationLogDir(logs::JobLogDir(spill_dir, start.id.job.value()),
                                             start.id.generation);
  }
  return start;
}

ShimRecord RecordOfStart(const StartCommand& start, ShimRecord shim) {
  shim.generation = start.id.generation;
  shim.ranks.clear();
  for (const WorkerStart& worker : start.workers) shim.ranks.push_back(worker.rank);
  shim.log_dir = start.log_dir;
  shim.cgroup = start.cgroup;
  shim.memory_cgroup = start.memory_cgroup;
  shim.pids_cgroup = start.pids_cgroup;
  shim.orphan_grace = start.orphan_grace;
  shim.keep_without_agent = start.keep_without_agent;
  shim.requires_contact = start.stop_on_disconnect_after != absl::InfiniteDuration();
  return shim;
}

}  // namespace accel::shim
