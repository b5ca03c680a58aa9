// The streaming calls of the gRPC service. Each call connects gRPC's callbacks with those of the
// coordinator through a LatestBox or a LogPipe. It has one operation at a time and no thread, and
// deletes itself when gRPC is done with it. The coordinator and the log must outlive the calls.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <string>

#include "coordinator/access/entrance.h"
#include "coordinator/coordinator.h"
#include "coordinator/refusal_log.h"
#include "proto/service.pb.h"

namespace accel::coordinator {

grpc::ServerWriteReactor<grpc::ByteBuffer>* NewWatchStream(Coordinator* coordinator,
                                                           Admission admission,
                                                           const v1::WatchJobRequest& request);

grpc::ServerWriteReactor<grpc::ByteBuffer>* NewReadLogsStream(Coordinator* coordinator,
                                                              Admission admission,
                                                              const v1::ReadLogsRequest& request);

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* NewAgentStream(
    Coordinator* coordinator, Admission admission, RefusalLog* log, const std::string& peer);

grpc::ServerReadReactor<grpc::ByteBuffer>* NewRelayStream(Coordinator* coordinator,
                                                          Admission admission, RefusalLog* log,
                                                          const std::string& peer);

// Returns a call that ends immediately with `status`. Reactor is one of gRPC's server reactors.
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
