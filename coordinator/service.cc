#include "coordinator/service.h"

#include <utility>
#include <vector>

#include "common/grpc_status.h"
#include "common/status_macros.h"
#include "common/stream_open.h"
#include "coordinator/streams.h"

namespace accel::coordinator {
namespace {

// The spec's own bounds are tighter and name the field (coordinator/core/job_spec.h).
constexpr WireBounds kSubmitBounds{16 << 20, 65'536};
// The bounds of all other requests, which have a job id and some numbers.
constexpr WireBounds kQuestionBounds{4096, 64};
// Room for two positions and a range for each of the 4,096 ranks that can be read.
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

grpc::ServerUnaryReactor* Refuse(grpc::CallbackServerContext* context, const absl::Status& status) {
  grpc::ServerUnaryReactor* call = context->DefaultReactor();
  call->Finish(common::ToGrpc(status));
  return call;
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* RefuseStream(const absl::Status& status) {
  return NewRefusal<grpc::ServerWriteReactor<grpc::ByteBuffer>>(common::ToGrpc(status));
}

}  // namespace

absl::StatusOr<Admission> CoordinatorService::Admit(grpc::CallbackServerContext& context,
                                                    Method method, const grpc::ByteBuffer& bytes,
                                                    const WireBounds& bounds,
                                                    google::protobuf::Message* request) {
  ACCEL_ASSIGN_OR_RETURN(Admission admission, entrance_.Admit(context, method));
  ACCEL_RETURN_IF_ERROR(Parse(bytes, bounds, request));
  return admission;
}

absl::Status CoordinatorService::CheckTree(const Caller& caller, const std::string& tree) const {
  if (tree.empty()) return absl::OkStatus();
  if (check_upload_ == nullptr)
    return absl::UnimplementedError("upload: this coordinator has none");
  return check_upload_(caller.name, tree);
}

grpc::ServerUnaryReactor* CoordinatorService::SubmitJob(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* bytes,
                                                        grpc::ByteBuffer* answer) {
  v1::SubmitJobRequest request;
  absl::StatusOr<Admission> admission =
      Admit(*context, Method::kSubmitJob, *bytes, kSubmitBounds, &request);
  if (!admission.ok()) return Refuse(context, admission.status());
  const absl::Status uploaded = CheckTree(admission->caller, request.spec().upload());
  if (!uploaded.ok()) return Refuse(context, uploaded);
  grpc::ServerUnaryReactor* call = context->DefaultReactor();
  auto finish = [this, call, answer, admitted = *admission,
                 peer = context->peer()](absl::StatusOr<common::JobId> job) {
    entrance_.Note(admitted.caller, peer, "submit", job.ok() ? job->value() : "", job.status());
    v1::SubmitJobResponse response;
    if (job.ok()) response.set_job_id(job->value());
    *answer = ToBytes(response);
    call->Finish(common::ToGrpc(job.status()));
  };
  coordinator_.SubmitJob(admission->caller, request.submit_id(), std::move(*request.mutable_spec()),
                         std::move(finish));
  return call;
}

grpc::ServerUnaryReactor* CoordinatorService::ListJobs(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* bytes,
                                                       grpc::ByteBuffer* answer) {
  v1::ListJobsRequest request;
  absl::StatusOr<Admission> admission =
      Admit(*context, Method::kListJobs, *bytes, kQuestionBounds, &request);
  if (!admission.ok()) return Refuse(context, admission.status());
  auto* call = new ListCall(std::move(admission->place), answer_room_, answer);
  const bool one = !request.job_id().empty();
  coordinator_.ListJobs(admission->caller, common::JobId(request.job_id()),
                        [call, one](absl::StatusOr<std::vector<JobPtr>> jobs) {
                          if (!jobs.ok()) return call->Fail(jobs.status());
                          call->Answer(ListOf(*jobs, one));
                        });
  return call;
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* CoordinatorService::WatchJob(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* bytes) {
  v1::WatchJobRequest request;
  absl::StatusOr<Admission> admission =
      Admit(*context, Method::kWatchJob, *bytes, kQuestionBounds, &request);
  if (!admission.ok()) return RefuseStream(admission.status());
  context->AddInitialMetadata(common::kStreamOpen, "1");
  return NewWatchStream(&coordinator_, *std::move(admission), request);
}

grpc::ServerUnaryReactor* CoordinatorService::CancelJob(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* bytes,
                                                        grpc::ByteBuffer* answer) {
  v1::CancelJobRequest request;
  absl::StatusOr<Admission> admission =
      Admit(*context, Method::kCancelJob, *bytes, kQuestionBounds, &request);
  if (!admission.ok()) return Refuse(context, admission.status());
  grpc::ServerUnaryReactor* call = context->DefaultReactor();
  *answer = ToBytes(v1::CancelJobResponse());
  coordinator_.CancelJob(admission->caller, common::JobId(request.job_id()), request.at_once(),
                         [this, call, admitted = *admission, peer = context->peer(),
                          job = request.job_id()](absl::Status status) {
                           entrance_.Note(admitted.caller, peer, "cancel", job, status);
                           call->Finish(common::ToGrpc(status));
                         });
  return call;
}

grpc::ServerUnaryReactor* CoordinatorService::ListNodes(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* bytes,
                                                        grpc::ByteBuffer* answer) {
  v1::ListNodesRequest request;
  absl::StatusOr<Admission> admission =
      Admit(*context, Method::kListNodes, *bytes, kQuestionBounds, &request);
  if (!admission.ok()) return Refuse(context, admission.status());
  auto* call = new ListCall(std::move(admission->place), answer_room_, answer);
  coordinator_.ListNodes([call](absl::StatusOr<v1::ListNodesResponse> nodes) {
    if (!nodes.ok()) return call->Fail(nodes.status());
    call->Answer(*nodes);
  });
  return call;
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* CoordinatorService::ReadLogs(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* bytes) {
  v1::ReadLogsRequest request;
  absl::StatusOr<Admission> admission =
      Admit(*context, Method::kReadLogs, *bytes, kReadBounds, &request);
  if (!admission.ok()) return RefuseStream(admission.status());
  context->AddInitialMetadata(common::kStreamOpen, "1");
  return NewReadLogsStream(&coordinator_, *std::move(admission), request);
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* CoordinatorService::Agent(
    grpc::CallbackServerContext* context) {
  absl::StatusOr<Admission> admission = entrance_.Admit(*context, Method::kAgent);
  if (!admission.ok()) {
    return NewRefusal<grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>>(
        common::ToGrpc(admission.status()));
  }
  return NewAgentStream(&coordinator_, *std::move(admission), &log_, context->peer());
}

grpc::ServerReadReactor<grpc::ByteBuffer>* CoordinatorService::RelayLogs(
    grpc::CallbackServerContext* context, grpc::ByteBuffer* answer) {
  absl::StatusOr<Admission> admission = entrance_.Admit(*context, Method::kRelayLogs);
  if (!admission.ok()) {
    return NewRefusal<grpc::ServerReadReactor<grpc::ByteBuffer>>(
        common::ToGrpc(admission.status()));
  }
  *answer = ToBytes(v1::RelayLogsResponse());
  return NewRelayStream(&coordinator_, *std::move(admission), &log_, context->peer());
}

}  // namespace accel::coordinator
