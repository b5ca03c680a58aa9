#include "cli/fake_coordinator.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/stream_open.h"

namespace accel::cli {
namespace {

const grpc::Status kNoSuchJob(grpc::StatusCode::NOT_FOUND, "no such job");

}  // namespace

grpc::Status FakeCoordinator::SubmitJob(grpc::ServerContext*, const v1::SubmitJobRequest* request,
                                        v1::SubmitJobResponse* response) {
  absl::MutexLock lock(&mutex_);
  submits_.push_back(*request);
  if (failing_submits_ > 0) {
    --failing_submits_;
    return submit_failure_;
  }
  response->set_job_id("a0x2k9fq");
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::ListJobs(grpc::ServerContext*, const v1::ListJobsRequest* request,
                                       v1::ListJobsResponse* response) {
  absl::MutexLock lock(&mutex_);
  for (const v1::Job& job : jobs_.jobs()) {
    if (request->job_id().empty() || request->job_id() == job.job_id()) *response->add_jobs() = job;
  }
  return request->job_id().empty() || !response->jobs().empty() ? grpc::Status::OK : kNoSuchJob;
}

grpc::Status FakeCoordinator::WatchJob(grpc::ServerContext* context,
                                       const v1::WatchJobRequest* request,
                                       grpc::ServerWriter<v1::Job>* writer) {
  Watch watch;
  {
    absl::MutexLock lock(&mutex_);
    watched_.push_back(*request);
    if (watches_.empty()) return kNoSuchJob;
    watch = watches_[std::min(watched_.size(), watches_.size()) - 1];
  }
  context->AddInitialMetadata(common::kStreamOpen, "1");
  return watch(*request, writer, this);
}

grpc::Status FakeCoordinator::CancelJob(grpc::ServerContext*, const v1::CancelJobRequest* request,
                                        v1::CancelJobResponse*) {
  absl::MutexLock lock(&mutex_);
  cancels_.push_back(*request);
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::Operations::DrainNode(grpc::ServerContext*,
                                                    const v1::DrainNodeRequest* request,
                                                    v1::DrainNodeResponse*) {
  absl::MutexLock lock(&of_.mutex_);
  of_.drains_.push_back(*request);
  if (request->node() == "n1") return grpc::Status::OK;
  return {grpc::StatusCode::NOT_FOUND, absl::StrCat("there is no node ", request->node())};
}

grpc::Status FakeCoordinator::ListNodes(grpc::ServerContext*, const v1::ListNodesRequest*,
                                        v1::ListNodesResponse* response) {
  absl::MutexLock lock(&mutex_);
  *response = nodes_;
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::ReadLogs(grpc::ServerContext* context,
                                       const v1::ReadLogsRequest* request,
                                       grpc::ServerWriter<v1::LogChunk>* writer) {
  context->AddInitialMetadata(common::kStreamOpen, "1");
  writer->SendInitialMetadata();
  absl::MutexLock lock(&mutex_);
  logs_read_.push_back(*request);
  if (logs_.empty()) return grpc::Status::OK;
  const Logs& logs = logs_[std::min(logs_read_.size(), logs_.size()) - 1];
  for (const v1::LogChunk& chunk : logs.chunks) writer->Write(chunk);
  return logs.end;
}

}  // namespace accel::cli
