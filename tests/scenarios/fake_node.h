// A fake node, as far as the coordinator sees it. It acts on its desired state when the
// scenario says so.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "proto/node.pb.h"

namespace accel::scenarios {

// The state that the node reports. Not thread-safe.
class FakeNode {
 public:
  // Makes a node with `sockets` spare store sockets on its address and, if this is another one, as
  // many on 127.0.0.1, as a real agent has. The socket with id N has port 10000 + N.
  FakeNode(std::string name, int gpus, int sockets, std::string address, int cpus);

  const std::string& name() const { return name_; }
  v1::NodeObserved& observed() { return observed_; }
  bool muted = false;  // The node sends no heartbeats.

  // Sets how far the node's clock is ahead of the coordinator's.
  void SetClock(absl::Duration ahead) { clock_ahead_ = ahead; }
  // Returns what the node's clock shows at `now`, in microseconds.
  int64_t Shows(absl::Time now) const { return absl::ToUnixMicros(now + clock_ahead_); }

  // Returns the next report: a copy of the state with a new sequence number.
  v1::NodeObserved Report(absl::Time now);

  // Acts on a desired state: starts generations, forgets them, and closes sockets. A generation
  // that the node never started and must stop needs no action.
  void Apply(const v1::NodeDesired& desired, absl::Time now);

  // Advances every generation by one step: one that is no longer wanted ends by SIGTERM, one that
  // is starting runs, and one that runs ends with code 0.
  void Work(const v1::NodeDesired& desired, absl::Time now);

  // Restarts the agent. The new one has another incarnation and other spare sockets, and adopts the
  // generations, unless it `forgets` them.
  void RestartAgent(bool forgets);
  // Restarts the host, which ends every process. The boot id changes.
  void Reboot();

  // Returns null if the node has no such generation.
  v1::ObservedGeneration* Find(const std::string& job, int generation);

  // From now on, every spare socket that a plan uses no longer exists.
  bool sockets_vanish = false;

 private:
  void Start(const v1::DesiredGeneration& desired);
  void CloseSockets(const v1::NodeDesired& desired);
  bool Has(uint64_t socket) const;
  void Refill();

  const std::string name_;
  const int sockets_;
  uint64_t next_socket_ = 1;
  int incarnation_ = 1;
  int boot_ = 1;
  absl::Duration clock_ahead_;
  v1::NodeObserved observed_;
};

}  // namespace accel::scenarios
