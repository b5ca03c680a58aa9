#include "coordinator/service.h"

#include <utility>
#include <vector>

#include "common/grpc_status.h"
#include "coordinator/streams.h"

namespace accel {
namespace {

// A list of all jobs leaves out what can be large and is shown for single jobs only.
void AddJobs(const std::vector<JobPtr>& jobs, bool whole, v1::ListJobsResponse* response) {
  for (const JobPtr& job : jobs) {
    v1::Job* listed = response->add_jobs();
    *listed = *job;
    if (!whole) listed->mutable_spec()->clear_env();
  }
}

}  // namespace

grpc::ServerUnaryReactor* CoordinatorService::SubmitJob(grpc::CallbackServerContext* context,
                                                        const v1::SubmitJobRequest* request,
                                                        v1::SubmitJobResponse* response) {
  grpc::ServerUnaryReactor* call = context->DefaultReactor();
  if (grpc::Status refused = authentication_.Check(*context); !refused.ok()) {
    call->Finish(refused);
    return call;
  }
  coordinator_.SubmitJob(request->submit_id(), request->spec(),
                         [call, response](absl::StatusOr<JobId> job) {
                           if (job.ok()) response->set_job_id(job->value());
                           call->Finish(ToGrpc(job.status()));
                         });
  return call;
}

grpc::ServerUnaryReactor* CoordinatorService::ListJobs(grpc::CallbackServerContext* context,
                                                       const v1::ListJobsRequest* request,
                                                       v1::ListJobsResponse* response) {
  grpc::ServerUnaryReactor* call = context->DefaultReactor();
  if (grpc::Status refused = authentication_.Check(*context); !refused.ok()) {
    call->Finish(refused);
    return call;
  }
  const bool one = !request->job_id().empty();
  coordinator_.ListJobs(JobId(request->job_id()),
                        [call, response, one](absl::StatusOr<std::vector<JobPtr>> jobs) {
                          if (jobs.ok()) AddJobs(*jobs, one, response);
                          call->Finish(ToGrpc(jobs.status()));
                        });
  return call;
}

grpc::ServerWriteReactor<v1::Job>* CoordinatorService::WatchJob(
    grpc::CallbackServerContext* context, const v1::WatchJobRequest* request) {
  const grpc::Status refused = authentication_.Check(*context);
  if (!refused.ok()) return NewRefusal<grpc::ServerWriteReactor<v1::Job>>(refused);
  return NewWatchStream(&coordinator_, *request);
}

grpc::ServerUnaryReactor* CoordinatorService::CancelJob(grpc::CallbackServerContext* context,
                                                        const v1::CancelJobRequest* request,
                                                        v1::CancelJobResponse* response) {
  grpc::ServerUnaryReactor* call = context->DefaultReactor();
  if (grpc::Status refused = authentication_.Check(*context); !refused.ok()) {
    call->Finish(refused);
    return call;
  }
  coordinator_.CancelJob(JobId(request->job_id()), request->at_once(),
                         [call](absl::Status status) { call->Finish(ToGrpc(status)); });
  return call;
}

grpc::ServerUnaryReactor* CoordinatorService::ListNodes(grpc::CallbackServerContext* context,
                                                        const v1::ListNodesRequest* request,
                                                        v1::ListNodesResponse* response) {
  grpc::ServerUnaryReactor* call = context->DefaultReactor();
  if (grpc::Status refused = authentication_.Check(*context); !refused.ok()) {
    call->Finish(refused);
    return call;
  }
  coordinator_.ListNodes([call, response](absl::StatusOr<v1::ListNodesResponse> nodes) {
    if (nodes.ok()) response->Swap(&*nodes);
    call->Finish(ToGrpc(nodes.status()));
  });
  return call;
}

grpc::ServerWriteReactor<v1::LogChunk>* CoordinatorService::ReadLogs(
    grpc::CallbackServerContext* context, const v1::ReadLogsRequest* request) {
  const grpc::Status refused = authentication_.Check(*context);
  if (!refused.ok()) return NewRefusal<grpc::ServerWriteReactor<v1::LogChunk>>(refused);
  return NewReadLogsStream(&coordinator_, *request);
}

grpc::ServerBidiReactor<v1::NodeObserved, v1::NodeDesired>* CoordinatorService::Agent(
    grpc::CallbackServerContext* context) {
  const grpc::Status refused = authentication_.Check(*context);
  if (!refused.ok()) {
    return NewRefusal<grpc::ServerBidiReactor<v1::NodeObserved, v1::NodeDesired>>(refused);
  }
  return NewAgentStream(&coordinator_);
}

grpc::ServerReadReactor<v1::LogChunk>* CoordinatorService::RelayLogs(
    grpc::CallbackServerContext* context, v1::RelayLogsResponse* response) {
  const grpc::Status refused = authentication_.Check(*context);
  if (!refused.ok()) return NewRefusal<grpc::ServerReadReactor<v1::LogChunk>>(refused);
  return NewRelayStream(&coordinator_);
}

}  // namespace accel
