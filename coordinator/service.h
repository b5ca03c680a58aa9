// The gRPC service. Each method admits the caller, then checks the size and form of the request,
// and passes both to the coordinator, whose loop does the work.
#pragma once

#include <google/protobuf/message.h>

#include <memory>

#include "coordinator/access/entrance.h"
#include "coordinator/coordinator.h"
#include "coordinator/list_call.h"
#include "coordinator/refusal_log.h"
#include "coordinator/wire.h"
#include "proto/service.grpc.pb.h"

namespace accel::coordinator {

// The service with raw bytes instead of messages. With messages, gRPC would parse a request before
// its caller is known, and with no other bound than its length.
// clang-format off
using CoordinatorServiceOfBytes =
    v1::Coordinator::WithRawCallbackMethod_SubmitJob<
    v1::Coordinator::WithRawCallbackMethod_ListJobs<
    v1::Coordinator::WithRawCallbackMethod_WatchJob<
    v1::Coordinator::WithRawCallbackMethod_CancelJob<
    v1::Coordinator::WithRawCallbackMethod_ListNodes<
    v1::Coordinator::WithRawCallbackMethod_ReadLogs<
    v1::Coordinator::WithRawCallbackMethod_Agent<
    v1::Coordinator::WithRawCallbackMethod_RelayLogs<
    v1::Coordinator::Service>>>>>>>>;
// clang-format on

// Thread-safe.
class CoordinatorService final : public CoordinatorServiceOfBytes {
 public:
  // The arguments must outlive the service.
  CoordinatorService(Coordinator* coordinator, Entrance* entrance, RefusalLog* log)
      : coordinator_(*coordinator), entrance_(*entrance), log_(*log) {}

  grpc::ServerUnaryReactor* SubmitJob(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* bytes,
                                      grpc::ByteBuffer* answer) override;
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* bytes,
                                     grpc::ByteBuffer* answer) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* WatchJob(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* bytes) override;
  grpc::ServerUnaryReactor* CancelJob(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* bytes,
                                      grpc::ByteBuffer* answer) override;
  grpc::ServerUnaryReactor* ListNodes(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* bytes,
                                      grpc::ByteBuffer* answer) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* ReadLogs(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* bytes) override;
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Agent(
      grpc::CallbackServerContext* context) override;
  grpc::ServerReadReactor<grpc::ByteBuffer>* RelayLogs(grpc::CallbackServerContext* context,
                                                       grpc::ByteBuffer* answer) override;

 private:
  // Admits the caller, then parses the request. Errors are those of Entrance::Admit() and Parse().
  absl::StatusOr<Caller> Admit(const grpc::CallbackServerContext& context, Method method,
                               const grpc::ByteBuffer& bytes, const WireBounds& bounds,
                               google::protobuf::Message* request);

  Coordinator& coordinator_;
  Entrance& entrance_;
  RefusalLog& log_;
  const std::shared_ptr<AnswerRoom> answer_room_ = std::make_shared<AnswerRoom>();
};

}  // namespace accel::coordinator
