#include "coordinator/service.h"

#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "common/status_macros.h"
#include "common/stream_open.h"
#include "coordinator/streams.h"
#include "proto/service.grpc.pb.h"

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

}  // namespace

Handlers CoordinatorService::handlers() {
  return HandlersOf(this, v1::Coordinator::service_full_name())
      .Request("SubmitJob", &CoordinatorService::SubmitJob)
      .Request("ListJobs", &CoordinatorService::ListJobs)
      .Request("WatchJob", &CoordinatorService::WatchJob)
      .Request("CancelJob", &CoordinatorService::CancelJob)
      .Request("ListNodes", &CoordinatorService::ListNodes)
      .Request("ReadLogs", &CoordinatorService::ReadLogs)
      .Stream("Agent", &CoordinatorService::Agent)
      .Stream("RelayLogs", &CoordinatorService::RelayLogs)
      .Take();
}

absl::StatusOr<Admission> CoordinatorService::Admit(ServerCall& call, Method method,
                                                    const WireBounds& bounds,
                                                    google::protobuf::Message* request) {
  ACCEL_ASSIGN_OR_RETURN(Admission admission, entrance_.Admit(call.context(), method));
  ACCEL_RETURN_IF_ERROR(Parse(call.request(), bounds, request));
  return admission;
}

absl::Status CoordinatorService::CheckTree(const Caller& caller, const std::string& tree) const {
  if (tree.empty()) return absl::OkStatus();
  if (check_upload_ == nullptr)
    return absl::UnimplementedError("upload: this coordinator has none");
  return check_upload_(caller.name, tree);
}

void CoordinatorService::SubmitJob(ServerCall* call) {
  v1::SubmitJobRequest request;
  absl::StatusOr<Admission> admission = Admit(*call, Method::kSubmitJob, kSubmitBounds, &request);
  if (!admission.ok()) return call->Finish(admission.status());
  const absl::Status uploaded = CheckTree(admission->caller, request.spec().upload());
  if (!uploaded.ok()) return call->Finish(uploaded);
  auto finish = [this, call, admitted = *admission,
                 peer = call->peer()](absl::StatusOr<common::JobId> job) {
    entrance_.Note(admitted.caller, peer, "submit", job.ok() ? job->value() : "", job.status());
    if (!job.ok()) return call->Finish(job.status());
    v1::SubmitJobResponse response;
    response.set_job_id(job->value());
    call->FinishWith(ToBytes(response));
  };
  coordinator_.SubmitJob(admission->caller, request.submit_id(), std::move(*request.mutable_spec()),
                         std::move(finish));
}

void CoordinatorService::ListJobs(ServerCall* call) {
  v1::ListJobsRequest request;
  absl::StatusOr<Admission> admission = Admit(*call, Method::kListJobs, kQuestionBounds, &request);
  if (!admission.ok()) return call->Finish(admission.status());
  auto* const list = new ListCall(call, std::move(admission->place), answer_room_);
  call->React(absl::WrapUnique(list));
  const bool one = !request.job_id().empty();
  coordinator_.ListJobs(admission->caller, common::JobId(request.job_id()),
                        [list, one](absl::StatusOr<std::vector<JobPtr>> jobs) {
                          if (!jobs.ok()) return list->Fail(jobs.status());
                          list->Answer(ListOf(*jobs, one));
                        });
}

void CoordinatorService::WatchJob(ServerCall* call) {
  v1::WatchJobRequest request;
  absl::StatusOr<Admission> admission = Admit(*call, Method::kWatchJob, kQuestionBounds, &request);
  if (!admission.ok()) return call->Finish(admission.status());
  call->context().AddInitialMetadata(common::kStreamOpen, "1");
  ServeWatch(call, &coordinator_, *std::move(admission), request);
}

void CoordinatorService::CancelJob(ServerCall* call) {
  v1::CancelJobRequest request;
  absl::StatusOr<Admission> admission = Admit(*call, Method::kCancelJob, kQuestionBounds, &request);
  if (!admission.ok()) return call->Finish(admission.status());
  coordinator_.CancelJob(admission->caller, common::JobId(request.job_id()), request.at_once(),
                         [this, call, admitted = *admission, peer = call->peer(),
                          job = request.job_id()](absl::Status status) {
                           entrance_.Note(admitted.caller, peer, "cancel", job, status);
                           if (!status.ok()) return call->Finish(status);
                           call->FinishWith(ToBytes(v1::CancelJobResponse()));
                         });
}

void CoordinatorService::ListNodes(ServerCall* call) {
  v1::ListNodesRequest request;
  absl::StatusOr<Admission> admission = Admit(*call, Method::kListNodes, kQuestionBounds, &request);
  if (!admission.ok()) return call->Finish(admission.status());
  auto* const list = new ListCall(call, std::move(admission->place), answer_room_);
  call->React(absl::WrapUnique(list));
  coordinator_.ListNodes([list](absl::StatusOr<v1::ListNodesResponse> nodes) {
    if (!nodes.ok()) return list->Fail(nodes.status());
    list->Answer(*nodes);
  });
}

void CoordinatorService::ReadLogs(ServerCall* call) {
  v1::ReadLogsRequest request;
  absl::StatusOr<Admission> admission = Admit(*call, Method::kReadLogs, kReadBounds, &request);
  if (!admission.ok()) return call->Finish(admission.status());
  call->context().AddInitialMetadata(common::kStreamOpen, "1");
  ServeReadLogs(call, &coordinator_, *std::move(admission), request);
}

void CoordinatorService::Agent(ServerCall* call) {
  absl::StatusOr<Admission> admission = entrance_.Admit(call->context(), Method::kAgent);
  if (!admission.ok()) return call->Finish(admission.status());
  ServeAgent(call, &coordinator_, *std::move(admission), &log_);
}

void CoordinatorService::RelayLogs(ServerCall* call) {
  absl::StatusOr<Admission> admission = entrance_.Admit(call->context(), Method::kRelayLogs);
  if (!admission.ok()) return call->Finish(admission.status());
  ServeRelay(call, &coordinator_, *std::move(admission), &log_);
}

}  // namespace accel::coordinator
