// The control groups of one generation in its shim: v2, v1 memory and v1 pids, as far as the node
// has them. They end all processes at once, limit their number, and say what the kernel has done to
// them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/unique_fd.h"
#include "process/cgroup.h"
#include "shim/core/messages.h"

namespace accel::shim {

// Not thread-safe.
class GenerationGroups {
 public:
  // Makes the groups that the start names, with its limit of processes (docs/decisions/0098).
  void Make(const StartCommand& start);

  // The group in which a worker is born, and those that it enters before it executes its program
  // (process/spawn.h). A bomb is faster than any later move.
  int born_in() const { return unified_.fd(); }
  const std::vector<int>& entered() const { return entered_; }

  // Adds what the groups know about a worker that has ended: whether the kernel killed it because
  // of memory, and whether the generation reached its limit of processes. Must be called once for
  // each worker, and not for one that this shim may have killed.
  void Explain(ExitFact* exit);

  // Sends SIGKILL to all processes in the v2 group.
  void Kill() { unified_.Kill(); }

  // Removes the groups. Returns true once they are gone, which proves that no process is inside.
  // Must be called again if it returns false.
  bool Remove();

 private:
  bool TakeOutOfMemory(const ExitFact& exit);
  // Returns what the generation's memory had as its peak, and its limit. Returns "" if the kernel
  // does not say.
  std::string MemoryUse() const;

  process::Cgroup unified_;
  process::Cgroup memory_;
  process::Cgroup pids_;
  std::vector<common::UniqueFd> tasks_;
  std::vector<int> entered_;  // Those of tasks_.
  int64_t out_of_memory_seen_ = 0;
  int64_t max_processes_ = 0;
};

}  // namespace accel::shim
