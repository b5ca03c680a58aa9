// The gRPC service. Each method checks the token, converts and posts; the coordinator's loop does
// the work.
#pragma once

#include <string>

#include "coordinator/authentication.h"
#include "coordinator/coordinator.h"
#include "proto/service.grpc.pb.h"

namespace accel {

// Thread-safe.
class CoordinatorService final : public v1::Coordinator::CallbackService {
 public:
  // Both outlive the service.
  CoordinatorService(Coordinator* coordinator, Authentication* authentication)
      : coordinator_(*coordinator), authentication_(*authentication) {}

  grpc::ServerUnaryReactor* SubmitJob(grpc::CallbackServerContext* context,
                                      const v1::SubmitJobRequest* request,
                                      v1::SubmitJobResponse* response) override;
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context,
                                     const v1::ListJobsRequest* request,
                                     v1::ListJobsResponse* response) override;
  grpc::ServerWriteReactor<v1::Job>* WatchJob(grpc::CallbackServerContext* context,
                                              const v1::WatchJobRequest* request) override;
  grpc::ServerUnaryReactor* CancelJob(grpc::CallbackServerContext* context,
                                      const v1::CancelJobRequest* request,
                                      v1::CancelJobResponse* response) override;
  grpc::ServerUnaryReactor* ListNodes(grpc::CallbackServerContext* context,
                                      const v1::ListNodesRequest* request,
                                      v1::ListNodesResponse* response) override;
  grpc::ServerWriteReactor<v1::LogChunk>* ReadLogs(grpc::CallbackServerContext* context,
                                                   const v1::ReadLogsRequest* request) override;
  grpc::ServerBidiReactor<v1::NodeObserved, v1::NodeDesired>* Agent(
      grpc::CallbackServerContext* context) override;
  grpc::ServerReadReactor<v1::LogChunk>* RelayLogs(grpc::CallbackServerContext* context,
                                                   v1::RelayLogsResponse* response) override;

 private:
  Coordinator& coordinator_;
  Authentication& authentication_;
};

}  // namespace accel
