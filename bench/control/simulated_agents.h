// Many agents in one thread. Each has a connection to the coordinator and an open stream, and
// reports whenever its node changes and with each heartbeat, as a real agent does.
#pragma once

#include <grpcpp/completion_queue.h>

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"

namespace accel::bench {

class SimulatedAgent;

// Not thread-safe. A stream that breaks ends the process with an error, because a figure that was
// measured with fewer agents is wrong.
class SimulatedAgents {
 public:
  // The agents have the numbers from `first`.
  SimulatedAgents(const std::string& address, int first, int agents);
  ~SimulatedAgents();

  SimulatedAgents(const SimulatedAgents&) = delete;
  SimulatedAgents& operator=(const SimulatedAgents&) = delete;

  // Runs the agents. At most `connecting` of them connect at the same time. Calls `connected` once
  // the coordinator has answered every agent's first report.
  [[noreturn]] void Run(size_t connecting, absl::FunctionRef<void()> connected);

 private:
  // Waits for an event of a stream and handles it, and sends the heartbeats that are due.
  void Serve();

  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<SimulatedAgent>> agents_;
  std::set<std::pair<absl::Time, SimulatedAgent*>> heartbeats_;  // When each is due.
  size_t answered_ = 0;  // The number of agents whose first report was answered.
};

}  // namespace accel::bench
