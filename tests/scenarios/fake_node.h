// A node as the coordinator sees it: does what its desired state says, when the scenario says so.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "proto/node.pb.h"

namespace accel::scenarios {

class FakeNode {
 public:
  // The spare socket with id N listens on the node's address, as agents' do, and port 10000 + N.
  FakeNode(std::string name, int gpus, int sockets, std::string address, int cpus);

  const std::string& name() const { return name_; }
  v1::NodeObserved& observed() { return observed_; }
  bool muted = false;  // Sends no heartbeat.

  // The next report: a copy with a new sequence number.
  v1::NodeObserved Report();

  // Acts on a desired state: starts, forgets, and drops what it never started and is told to stop.
  void Apply(const v1::NodeDesired& desired);

  // One step of everything that runs here: what is not wanted any more ends by SIGTERM, what starts
  // runs, what runs ends with code 0.
  void Work(const v1::NodeDesired& desired);

  // The agent starts anew: another incarnation, nothing of the past.
  void Restart();

  // Null: the node has no such generation.
  v1::ObservedGeneration* Find(const std::string& job, int generation);

  // Every spare socket that a plan wants from now on turns out to be gone.
  bool sockets_vanish = false;

 private:
  void Start(const v1::DesiredGeneration& desired);
  bool Has(uint64_t socket) const;
  void Refill();

  const std::string name_;
  const int sockets_;
  uint64_t next_socket_ = 1;
  int incarnation_ = 1;
  v1::NodeObserved observed_;
};

}  // namespace accel::scenarios
