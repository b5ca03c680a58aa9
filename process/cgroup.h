// Control groups: what this node offers, and one generation's folder in it. They make ending a job
// quick and count its out-of-memory kills; where they are missing or forbidden, the sweep
// (sweep.h) ends jobs alone and no kill is put down to memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/ids.h"
#include "common/unique_fd.h"

namespace accel::process {

struct CgroupSupport {
  std::string base;         // cgroup v2 folder for generations, with cgroup.kill. Empty: none.
  std::string memory_base;  // cgroup v1 memory folder for generations. Empty: none.
  // Whether a worker that the kernel killed for want of memory is told from one that was killed
  // otherwise: v2 with the memory controller, or v1's.
  bool counts_oom_kills = false;
  std::string instance;     // Ends the names of generations' folders; see ProbeCgroups().
  std::string description;  // Which is used, or why none, for people.

  // The folder of a generation; empty if there is none to be had.
  std::string PathFor(const common::GenerationId& id) const;
  std::string MemoryPathFor(const common::GenerationId& id) const;
};

// Tries out, once, what this process may do: makes a folder and has a process born in it.
// ACCEL_CGROUP=none in the environment turns control groups off. `instance` keeps apart the agents
// of one node, which may issue the same job ids, and is the same for an agent that comes back.
// Empty: one that nobody else has.
CgroupSupport ProbeCgroups(const std::string& instance = "");

// Ends whatever is left in folders of this instance: an earlier agent and its shims were killed
// together. Nobody else may use the instance meanwhile. Returns the number of folders that were
// there; gives up on one after two seconds.
int EndEarlierGenerations(const CgroupSupport& support);

// The path of this process in a hierarchy, out of the text of /proc/self/cgroup. `controller` is
// empty for v2. Nothing if it is not listed.
std::optional<std::string> CgroupPathIn(absl::string_view proc_self_cgroup,
                                        absl::string_view controller);

// The count behind `key` in a file of lines "KEY NUMBER", such as memory.events.
std::optional<int64_t> CountIn(absl::string_view text, absl::string_view key);

// One generation's folder, v2 or v1. Not thread-safe.
class Cgroup {
 public:
  Cgroup() = default;  // None: nothing below does anything, and it is always empty.

  // Makes the folder `path` if it is missing. None if `path` is empty or it cannot be made.
  static Cgroup Make(const std::string& path);

  int fd() const { return folder_.get(); }  // For SpawnOptions::cgroup_fd; -1: none.

  // Moves a process into it. Slow, up to tens of milliseconds.
  void Add(int64_t pid);

  // SIGKILL to everything inside and below, if the kernel has cgroup.kill.
  void Kill();

  // How often the kernel's out-of-memory killer has struck inside. 0 if nobody counts.
  int64_t OomKills() const;

  // Removes the folder and those that workers made below. True once it is gone: nothing is inside.
  bool Remove();

 private:
  std::string path_;
  common::UniqueFd folder_;
};

}  // namespace accel::process
