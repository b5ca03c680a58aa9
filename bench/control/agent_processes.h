// Simulated agents in several processes. A real agent has a process of its own, in which gRPC keeps
// track of few operations. If thousands of agents were in one process, their own cost would be most
// of what is measured on a machine with few processors.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace accel::bench {

// Not thread-safe. The processes end with this one. If one of them ends first, because a stream of
// its agents broke, this program ends with an error.
class AgentProcesses {
 public:
  // Forks, so it must be called before gRPC is used.
  explicit AgentProcesses(int agents);

  // Connects the agents to the coordinator. Returns when it has answered the first report of each.
  void Connect(const std::string& address);

 private:
  struct Process {
    pid_t pid = 0;
    int commands = -1;  // The address is written here.
    int answers = -1;   // A byte is read from here once the process is connected.
  };

  std::vector<Process> processes_;
};

}  // namespace accel::bench
