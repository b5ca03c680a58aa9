// The gRPC service Coordinator. Each method admits the caller, checks the size and form of the
// request, and passes both to the coordinator, whose loop does the work.
#pragma once

#include <google/protobuf/message.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "coordinator/access/entrance.h"
#include "coordinator/coordinator.h"
#include "coordinator/list_call.h"
#include "coordinator/refusal_log.h"
#include "coordinator/wire.h"
#include "proto/service.grpc.pb.h"

namespace accel::coordinator {

// The service with raw bytes instead of messages. With messages, gRPC would parse a request before
// its caller is known, and would bound only its length.
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
  // The type of ServerOptions::check_upload.
  using CheckUpload = std::function<absl::Status(const std::string&, const std::string&)>;

  // The pointers must outlive the service.
  CoordinatorService(Coordinator* coordinator, Entrance* entrance, RefusalLog* log,
                     CheckUpload check_upload)
      : coordinator_(*coordinator),
        entrance_(*entrance),
        log_(*log),
        check_upload_(std::move(check_upload)) {}

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
  // Returns OK if the caller may submit a job that names this tree, or the error for the caller.
  absl::Status CheckTree(const Caller& caller, const std::string& tree) const;
  // Admits the call, then parses the request. Errors are those of Entrance::Admit() and Parse().
  absl::StatusOr<Admission> Admit(grpc::CallbackServerContext& context, Method method,
                                  const grpc::ByteBuffer& bytes, const WireBounds& bounds,
                                  google::protobuf::Message* request);

  Coordinator& coordinator_;
  Entrance& entrance_;
  RefusalLog& log_;
  const CheckUpload check_upload_;
  const std::shared_ptr<AnswerRoom> answer_room_ = std::make_shared<AnswerRoom>();
};

}  // namespace accel::coordinator
