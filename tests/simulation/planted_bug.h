// The places where a test can put a bug between the real parts, to show that the simulation finds
// it. All are empty in a simulation of the real program. planted_bugs.h has the bugs.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "coordinator/store/store.h"
#include "proto/node.pb.h"

namespace accel::simulation {

struct PlantedBug {
  std::string name;
  // Wraps the store of each new process of the coordinator. The wrapper dies with the process.
  std::function<std::unique_ptr<coordinator::Store>(coordinator::Store*)> store;
  // Changes a report on its way from an agent to the coordinator.
  std::function<void(v1::NodeObserved*)> report;
  // Changes a desired state on its way from the coordinator to an agent.
  std::function<void(v1::NodeDesired*)> desired;
};

}  // namespace accel::simulation
