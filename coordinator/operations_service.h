// The gRPC service for operators. Each method admits the caller, checks the size and form of the
// request, and passes it to the coordinator, whose loop does the work.
#pragma once

#include "coordinator/access/entrance.h"
#include "coordinator/coordinator.h"
#include "proto/service.grpc.pb.h"

namespace accel::coordinator {

// The service with raw bytes instead of messages. service.h gives the reason. Thread-safe.
class OperationsService final
    : public v1::Operations::WithRawCallbackMethod_DrainNode<v1::Operations::Service> {
 public:
  // The arguments must outlive the service.
  OperationsService(Coordinator* coordinator, Entrance* entrance)
      : coordinator_(*coordinator), entrance_(*entrance) {}

  grpc::ServerUnaryReactor* DrainNode(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* bytes,
                                      grpc::ByteBuffer* answer) override;

 private:
  Coordinator& coordinator_;
  Entrance& entrance_;
};

}  // namespace accel::coordinator
