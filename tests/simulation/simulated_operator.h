// An operator who drains nodes and ends drains. A call that was not answered is repeated.
#pragma once

#include <map>
#include <string>

#include "absl/time/time.h"
#include "common/clock.h"
#include "proto/node.pb.h"
#include "tests/simulation/simulated_coordinator.h"

namespace accel::simulation {

// Not thread-safe.
class SimulatedOperator {
 public:
  // The pointers must outlive this object, except that `coordinator` may be destroyed before it.
  SimulatedOperator(SimulatedCoordinator* coordinator, common::Clock* clock)
      : coordinator_(coordinator), clock_(clock) {}

  void Drain(const std::string& node, v1::Drain drain);
  void EndDrains();
  // Makes the calls that have not been answered.
  void Run();

  // Returns since when a coordinator has promised to give the node no work. InfiniteFuture if none
  // has.
  absl::Time drained_since(const std::string& node) const;
  // Returns true if a coordinator may have taken a call that moves the node's jobs at `since` or
  // later.
  bool MayMoveJobs(const std::string& node, absl::Time since) const;

 private:
  struct Request {
    v1::Drain drain = v1::NOT_DRAINED;
    int number = 0;  // Each request for a node has the next one.
    bool answered = true;
    uint64_t asked_of = 0;  // The process of the coordinator that has not yet answered. 0 if none.
    absl::Time drained_since = absl::InfiniteFuture();
  };

  void EndMove(const std::string& node);

  SimulatedCoordinator* const coordinator_;
  common::Clock* const clock_;
  std::map<std::string, Request> requests_;
  // Until when a coordinator may take the last call that moves the jobs of each node.
  std::map<std::string, absl::Time> moves_until_;
};

}  // namespace accel::simulation
