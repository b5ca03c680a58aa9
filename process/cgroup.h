// The control groups that this node offers, and the folder of one generation in them. Control
// groups make ending a job fast, and they count its out-of-memory kills. If they are missing or
// forbidden, only the sweep (sweep.h) ends jobs, and no kill is reported as out of memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/ids.h"
#include "common/unique_fd.h"

namespace accel::process {

struct CgroupSupport {
  // cgroup v2 folder for generations, with cgroup.kill. If empty, v2 is not usable.
  std::string base;
  std::string memory_base;  // cgroup v1 memory folder for generations. If empty, v1 is not usable.
  // True if out-of-memory kills can be distinguished from other kills: v2 with the memory
  // controller, or v1 memory.
  bool counts_oom_kills = false;
  std::string instance;     // Suffix of all folder names; see ProbeCgroups().
  std::string description;  // For logs: the hierarchies in use, or why none is.

  // Return the folder of a generation in v2 and in v1 memory, or "" if that hierarchy
  // is not usable.
  std::string PathFor(const common::GenerationId& id) const;
  std::string MemoryPathFor(const common::GenerationId& id) const;
  // Return the folders for a whole job of another user (job_cgroup.h).
  std::string JobPathFor(const common::JobId& job) const;
  std::string JobMemoryPathFor(const common::JobId& job) const;
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

// Returns the path of this process in a hierarchy, from the text of /proc/self/cgroup. `controller`
// is empty for v2. Returns nullopt if the hierarchy is not listed.
std::optional<std::string> CgroupPathIn(absl::string_view proc_self_cgroup,
                                        absl::string_view controller);

// Returns the number after `key` in a text of lines "KEY NUMBER", for example that of
// memory.events. Returns nullopt if there is no such line.
std::optional<int64_t> CountIn(absl::string_view text, absl::string_view key);

// One generation's folder, v2 or v1. Not thread-safe.
class Cgroup {
 public:
  // Represents no folder. No method has an effect, and Remove() returns true.
  Cgroup() = default;

  // Makes the folder `path` if it is missing. Returns Cgroup() if `path` is empty
  // or cannot be made.
  static Cgroup Make(const std::string& path);

  int fd() const { return folder_.get(); }  // For SpawnOptions::cgroup_fd. -1 without a folder.

  // Moves a process into the folder. Takes up to tens of milliseconds.
  void Add(int64_t pid);

  // Sends SIGKILL to all processes in the folder and below it, if the kernel has cgroup.kill.
  void Kill();

  // Returns the number of processes in the folder that the kernel's out-of-memory killer has
  // killed, or 0 if the kernel does not count them here.
  int64_t OomKills() const;

  // Removes the folder, and the folders that workers have made in it. Returns true once the folder
  // is gone, which proves that no process is inside. Must be called again if it returns false.
  bool Remove();

 private:
  std::string path_;
  common::UniqueFd folder_;
};

}  // namespace accel::process
