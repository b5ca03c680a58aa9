#include "coordinator/service.h"

#include <utility>
#include <vector>

#include "common/stream_open.h"
#include "coordinator/admit_request.h"
#include "coordinator/streams.h"
#include "coordinator/wire.h"
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

void CoordinatorService::AddTo(Handlers* handlers) {
  HandlerAdder(this, v1::Coordinator::service_full_name(), handlers)
      .Add("SubmitJob", &CoordinatorService::SubmitJob)
      .Add("ListJobs", &CoordinatorService::ListJobs)
      .Add("WatchJob", &CoordinatorService::WatchJob)
      .Add("CancelJob", &CoordinatorService::CancelJob)
      .Add("ListNodes", &CoordinatorService::ListNodes)
      .Add("ReadLogs", &CoordinatorService::ReadLogs)
      .Add("Agent", &CoordinatorService::Agent)
      .Add("RelayLogs", &CoordinatorService::RelayLogs);
}

void CoordinatorService::CheckTree(const Caller& caller, const std::string& tree,
                                   std::function<void(absl::Status)> done) const {
  if (tree.empty()) return done(absl::OkStatus());
  if (check_upload_ == nullptr)
    return done(absl::UnimplementedError("upload: this coordinator has none"));
  check_upload_(caller.name, tree, std::move(done));
}

void CoordinatorService::SubmitJob(ServerCall* call) {
  auto submit = [this, call](const Admission& admission, v1::SubmitJobRequest request) {
    auto finish = [this, call, admission, peer = call->peer()](absl::StatusOr<common::JobId> job) {
      entrance_.Note(admission.caller, peer, "submit", job.ok() ? job->value() : "", job.status());
      if (!job.ok()) return call->Finish(job.status());
      v1::SubmitJobResponse response;
      response.set_job_id(job->value());
      call->FinishWith(ToBytes(response));
    };
    const std::string tree = request.spec().upload();
    auto wanted = std::make_shared<v1::SubmitJobRequest>(std::move(request));
    CheckTree(
        admission.caller, tree,
        [this, call, caller = admission.caller, wanted, finish](const absl::Status& uploaded) {
          if (!uploaded.ok()) return call->Finish(uploaded);
          coordinator_.SubmitJob(caller, wanted->submit_id(), std::move(*wanted->mutable_spec()),
                                 finish);
        });
  };
  AdmitRequest<v1::SubmitJobRequest>(call, &entrance_, Method::kSubmitJob, kSubmitBounds, submit);
}

void CoordinatorService::ListJobs(ServerCall* call) {
  auto list_jobs = [this, call](Admission admission, const v1::ListJobsRequest& request) {
    ListCall* const list = ListCall::Begin(call, std::move(admission.place), answer_room_);
    const bool one = !request.job_id().empty();
    coordinator_.ListJobs(admission.caller, common::JobId(request.job_id()),
                          [list, one](absl::StatusOr<std::vector<JobPtr>> jobs) {
                            if (!jobs.ok()) return list->Fail(jobs.status());
                            list->Answer(ListOf(*jobs, one));
                          });
  };
  AdmitRequest<v1::ListJobsRequest>(call, &entrance_, Method::kListJobs, kQuestionBounds,
                                    list_jobs);
}

void CoordinatorService::WatchJob(ServerCall* call) {
  auto watch = [this, call](Admission admission, const v1::WatchJobRequest& request) {
    call->context().AddInitialMetadata(common::kStreamOpen, "1");
    ServeWatch(call, &coordinator_, std::move(admission), request);
  };
  AdmitRequest<v1::WatchJobRequest>(call, &entrance_, Method::kWatchJob, kQuestionBounds, watch);
}

void CoordinatorService::CancelJob(ServerCall* call) {
  auto cancel = [this, call](const Admission& admission, const v1::CancelJobRequest& request) {
    coordinator_.CancelJob(
        admission.caller, common::JobId(request.job_id()), request.at_once(),
        [this, call, admission, peer = call->peer(), job = request.job_id()](absl::Status status) {
          entrance_.Note(admission.caller, peer, "cancel", job, status);
          if (!status.ok()) return call->Finish(status);
          call->FinishWith(ToBytes(v1::CancelJobResponse()));
        });
  };
  AdmitRequest<v1::CancelJobRequest>(call, &entrance_, Method::kCancelJob, kQuestionBounds, cancel);
}

void CoordinatorService::ListNodes(ServerCall* call) {
  auto list_nodes = [this, call](Admission admission, const v1::ListNodesRequest&) {
    ListCall* const list = ListCall::Begin(call, std::move(admission.place), answer_room_);
    coordinator_.ListNodes([list](absl::StatusOr<v1::ListNodesResponse> nodes) {
      if (!nodes.ok()) return list->Fail(nodes.status());
      list->Answer(*nodes);
    });
  };
  AdmitRequest<v1::ListNodesRequest>(call, &entrance_, Method::kListNodes, kQuestionBounds,
                                     list_nodes);
}

void CoordinatorService::ReadLogs(ServerCall* call) {
  auto read = [this, call](Admission admission, const v1::ReadLogsRequest& request) {
    call->context().AddInitialMetadata(common::kStreamOpen, "1");
    ServeReadLogs(call, &coordinator_, std::move(admission), request);
  };
  AdmitRequest<v1::ReadLogsRequest>(call, &entrance_, Method::kReadLogs, kReadBounds, read);
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
