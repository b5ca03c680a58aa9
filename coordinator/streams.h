// The streams of the gRPC service: each turns what gRPC asks and what the coordinator tells into
// calls on a box or a pipe, one operation at a time, without a thread of its own. Each deletes
// itself when gRPC is done with it; the coordinator and the log outlive it.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <string>

#include "coordinator/coordinator.h"
#include "coordinator/refusal_log.h"
#include "proto/service.pb.h"

namespace accel::coordinator {

grpc::ServerWriteReactor<grpc::ByteBuffer>* NewWatchStream(Coordinator* coordinator,
                                                           const v1::WatchJobRequest& request);

grpc::ServerWriteReactor<grpc::ByteBuffer>* NewReadLogsStream(Coordinator* coordinator,
                                                              const v1::ReadLogsRequest& request);

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* NewAgentStream(
    Coordinator* coordinator, RefusalLog* log, const std::string& peer);

grpc::ServerReadReactor<grpc::ByteBuffer>* NewRelayStream(Coordinator* coordinator, RefusalLog* log,
                                                          const std::string& peer);

// A call that ends at once. Reactor is one of gRPC's server reactors.
template <typename Reactor>
Reactor* NewRefusal(const grpc::Status& status) {
  class Refusal final : public Reactor {
   public:
    explicit Refusal(const grpc::Status& status) { this->Finish(status); }
    void OnDone() override { delete this; }
  };
  return new Refusal(status);
}

}  // namespace accel::coordinator
