// The control groups that this node offers, and the folder of one generation in them. Control
// groups make ending a job fast, count its out-of-memory kills, and limit the number of its
// processes. If they are missing or forbidden, only the sweep (sweep.h) ends jobs, no kill is
// reported as out of memory, and there is no limit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/ids.h"
#include "common/unique_fd.h"

namespace accel::process {

struct CgroupSupport {
  // cgroup v2 folder for generations, with cgroup.kill. If empty, v2 is not usable.
  std::string base;
  // cgroup v1 folders for generations, of memory and of pids. If empty, the hierarchy is not
  // usable.
  std::string memory_base;
  std::string pids_base;
  // True if out-of-memory kills can be distinguished from other kills: v2 with the memory
  // controller, or v1 memory.
  bool counts_oom_kills = false;
  // Maximum number of processes and threads of one generation. If 0, the number cannot be limited,
  // because neither v2 nor v1 has pids.
  int64_t max_processes = 0;
  std::string instance;     // Suffix of all folder names; see ProbeCgroups().
  std::string description;  // For logs: the hierarchies in use, or why none is.

  // Replaces the default of max_processes, unless `wish` is 0. Returns false if the number cannot
  // be limited.
  bool ChooseMaxProcesses(int64_t wish);

  // Return the folder of a generation in v2, in v1 memory and in v1 pids, or "" if that hierarchy
  // is not usable.
  std::string PathFor(const common::GenerationId& id) const;
  std::string MemoryPathFor(const common::GenerationId& id) const;
  std::string PidsPathFor(const common::GenerationId& id) const;
  // Return the folders for a whole job of another user (job_cgroup.h).
  std::string JobPathFor(const common::JobId& job) const;
  std::string JobMemoryPathFor(const common::JobId& job) const;
  std::string JobPidsPathFor(const common::JobId& job) const;
};

// Finds out by trial which hierarchies this process can use: makes a folder, and has a process born
// in it. ACCEL_CGROUP=none in the environment turns control groups off. `instance` distinguishes
// the agents of one node, because the jobs of two clusters may have the same ids. It must be the
// same after an agent's restart. If empty, it is made from this process's pid and start time.
CgroupSupport ProbeCgroups(const std::string& instance = "");

// Kills all processes in the v2 folders of this instance, and removes its folders. Such folders
// remain if an earlier agent and its shims were killed together. No other process may use the
// instance meanwhile. Returns the number of v2 folders that existed, or 0 if v2 is not usable.
// Gives up on a folder after two seconds.
int EndEarlierGenerations(const CgroupSupport& support);

// One generation's folder in one hierarchy, v2 or v1. Not thread-safe.
class Cgroup {
 public:
  // Represents no folder. No method has an effect, and Remove() returns true.
  Cgroup() = default;

  // Makes the folder `path` if it is missing. Returns Cgroup() if `path` is empty
  // or cannot be made.
  static Cgroup Make(const std::string& path);

  // Returns Cgroup() if there is no folder `path`.
  static Cgroup Find(const std::string& path);

  int fd() const { return folder_.get(); }  // For SpawnOptions::cgroup_fd. -1 without a folder.

  // Opens the file through which a process enters a v1 folder (SpawnOptions::entered_groups).
  // Returns an invalid descriptor for v2, in whose folders processes are born.
  common::UniqueFd OpenTasks() const;

  // Sets the maximum number of processes and threads in the folder. Has no effect if `limit` is 0,
  // or if the folder has no pids controller.
  void LimitProcesses(int64_t limit);

  // Returns the number of times that the limit has kept a process from starting another, or 0 if
  // the kernel does not count this.
  int64_t RefusedForks() const;

  // Sends SIGKILL to all processes in the folder and below it. Without cgroup.kill, as in v1, the
  // call reaches only some hundred processes, and those that are directly in the folder.
  void Kill();

  // Returns the number of processes in the folder that the kernel's out-of-memory killer has
  // killed, or 0 if the kernel does not count them here.
  int64_t OomKills() const;

  // Returns the largest number of bytes that the processes in the folder have had at one time.
  // Returns nullopt if the kernel does not count them here.
  std::optional<int64_t> MemoryPeak() const;

  // Returns the smallest memory limit of the folder and of those above it, in bytes. Returns
  // nullopt if none has a limit.
  std::optional<int64_t> MemoryLimit() const;

  // Removes the folder, and the folders that workers have made in it. Returns true once the folder
  // is gone, which proves that no process is inside. Must be called again if it returns false.
  bool Remove();

 private:
  std::string path_;
  common::UniqueFd folder_;
};

}  // namespace accel::process
