#include "coordinator/service.h"

#include <utility>
#include <vector>

#include "common/grpc_status.h"
#include "common/stream_open.h"
#include "coordinator/streams.h"

namespace accel::coordinator {
namespace {

// The spec's own bounds are tighter and name the field (coordinator/core/job_spec.h).
constexpr WireBounds kSubmitBounds{16 << 20, 65'536};
// The bounds of all other requests, which have a job id and some numbers.
constexpr WireBounds kQuestionBounds{4096, 64};
// Two positions and a range for each rank that can be read.
constexpr WireBounds kReadBounds{256 << 10, 16'384};

// Returns the answer to ListJobs. Unless `whole` is set, leaves out the environment, which can be
// large and is shown for single jobs only.
v1::ListJobsResponse ListOf(const std::vector<JobPtr>& jobs, bool whole) {
  v1::ListJobsResponse list;
  for (const JobPtr& job : jobs) {
    v1::Job* listed = list.add_jobs();
    *listed = *job;
    if (!whole) listed->mutable_spec()->clear_env();
  }
  return list;
}

grpc::ServerUnaryReactor* Refuse(grpc::CallbackServerContext* context, const grpc::Status& status) {
  grpc::ServerUnaryReactor* call = context->DefaultReactor();
  call->Finish(status);
  return call;
}

}  // namespace

grpc::Status CoordinatorService::Admit(const grpc::CallbackServerContext& context,
                                       const grpc::ByteBuffer& bytes, const WireBounds& bounds,
                                       google::protobuf::Message* request) {
  if (grpc::Status refused = authentication_.Check(context); !refused.ok()) return refused;
  return common::ToGrpc(Parse(bytes, bounds, request));
}

grpc::ServerUnaryReactor* CoordinatorService::SubmitJob(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* bytes,
                                                        grpc::ByteBuffer* answer) {
  v1::SubmitJobRequest request;
  const grpc::Status admitted = Admit(*context, *bytes, kSubmitBounds, &request);
  if (!admitted.ok()) return Refuse(context, admitted);
  grpc::ServerUnaryReactor* call = context->DefaultReactor();
  coordinator_.SubmitJob(request.submit_id(), std::move(*request.mutable_spec()),
                         [call, answer](absl::StatusOr<common::JobId> job) {
                           v1::SubmitJobResponse response;
                           if (job.ok()) response.set_job_id(job->value());
                           *answer = ToBytes(response);
                           call->Finish(common::ToGrpc(job.status()));
                         });
  return call;
}

grpc::ServerUnaryReactor* CoordinatorService::ListJobs(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* bytes,
                                                       grpc::ByteBuffer* answer) {
  v1::ListJobsRequest request;
  const grpc::Status admitted = Admit(*context, *bytes, kQuestionBounds, &request);
  if (!admitted.ok()) return Refuse(context, admitted);
  auto* call = new ListCall(answer_room_, answer);
  const bool one = !request.job_id().empty();
  coordinator_.ListJobs(common::JobId(request.job_id()),
                        [call, one](absl::StatusOr<std::vector<JobPtr>> jobs) {
                          if (!jobs.ok()) return call->Fail(jobs.status());
                          call->Answer(ListOf(*jobs, one));
                        });
  return call;
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* CoordinatorService::WatchJob(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* bytes) {
  v1::WatchJobRequest request;
  const grpc::Status admitted = Admit(*context, *bytes, kQuestionBounds, &request);
  if (!admitted.ok()) return NewRefusal<grpc::ServerWriteReactor<grpc::ByteBuffer>>(admitted);
  context->AddInitialMetadata(common::kStreamOpen, "1");
  return NewWatchStream(&coordinator_, request);
}

grpc::ServerUnaryReactor* CoordinatorService::CancelJob(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* bytes,
                                                        grpc::ByteBuffer* answer) {
  v1::CancelJobRequest request;
  const grpc::Status admitted = Admit(*context, *bytes, kQuestionBounds, &request);
  if (!admitted.ok()) return Refuse(context, admitted);
  grpc::ServerUnaryReactor* call = context->DefaultReactor();
  *answer = ToBytes(v1::CancelJobResponse());
  coordinator_.CancelJob(common::JobId(request.job_id()), request.at_once(),
                         [call](absl::Status status) { call->Finish(common::ToGrpc(status)); });
  return call;
}

grpc::ServerUnaryReactor* CoordinatorService::ListNodes(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* bytes,
                                                        grpc::ByteBuffer* answer) {
  v1::ListNodesRequest request;
  const grpc::Status admitted = Admit(*context, *bytes, kQuestionBounds, &request);
  if (!admitted.ok()) return Refuse(context, admitted);
  auto* call = new ListCall(answer_room_, answer);
  coordinator_.ListNodes([call](absl::StatusOr<v1::ListNodesResponse> nodes) {
    if (!nodes.ok()) return call->Fail(nodes.status());
    call->Answer(*nodes);
  });
  return call;
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* CoordinatorService::ReadLogs(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* bytes) {
  v1::ReadLogsRequest request;
  const grpc::Status admitted = Admit(*context, *bytes, kReadBounds, &request);
  if (!admitted.ok()) return NewRefusal<grpc::ServerWriteReactor<grpc::ByteBuffer>>(admitted);
  context->AddInitialMetadata(common::kStreamOpen, "1");
  return NewReadLogsStream(&coordinator_, request);
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* CoordinatorService::Agent(
    grpc::CallbackServerContext* context) {
  const grpc::Status refused = authentication_.Check(*context);
  if (!refused.ok()) {
    return NewRefusal<grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>>(refused);
  }
  return NewAgentStream(&coordinator_, &log_, context->peer());
}

grpc::ServerReadReactor<grpc::ByteBuffer>* CoordinatorService::RelayLogs(
    grpc::CallbackServerContext* context, grpc::ByteBuffer* answer) {
  const grpc::Status refused = authentication_.Check(*context);
  if (!refused.ok()) return NewRefusal<grpc::ServerReadReactor<grpc::ByteBuffer>>(refused);
  *answer = ToBytes(v1::RelayLogsResponse());
  return NewRelayStream(&coordinator_, &log_, context->peer());
}

}  // namespace accel::coordinator
