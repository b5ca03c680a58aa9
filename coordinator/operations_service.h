// The gRPC service for operators. Each method admits the caller, checks the size and form of the
// request, and passes it to the coordinator, whose loop does the work.
#pragma once

#include "coordinator/access/entrance.h"
#include "coordinator/calls/handler.h"
#include "coordinator/coordinator.h"

namespace accel::coordinator {

// Thread-safe.
class OperationsService {
 public:
  // The arguments must outlive the service.
  OperationsService(Coordinator* coordinator, Entrance* entrance)
      : coordinator_(*coordinator), entrance_(*entrance) {}

  // Adds the handlers of its methods, which use the service.
  void AddTo(Handlers* handlers);

 private:
  void DrainNode(ServerCall* call);

  Coordinator& coordinator_;
  Entrance& entrance_;
};

}  // namespace accel::coordinator
