// Thousands of agents in one process. Each has a connection to the coordinator and an open stream,
// and reports whenever its node changes and with each heartbeat, as a real agent does.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"

namespace accel::bench {

class SimulatedAgent;

// Thread-safe. A stream that breaks ends the program with an error, because a figure that was
// measured with fewer agents is wrong.
class SimulatedAgents {
 public:
  // Blocks until the coordinator has answered every agent's first report.
  SimulatedAgents(const std::string& address, int agents);
  ~SimulatedAgents();

  SimulatedAgents(const SimulatedAgents&) = delete;
  SimulatedAgents& operator=(const SimulatedAgents&) = delete;

 private:
  void SendHeartbeats();

  std::vector<std::unique_ptr<SimulatedAgent>> agents_;
  std::atomic<bool> stopping_{false};
  std::thread heartbeats_;
};

}  // namespace accel::bench
