// A coordinator at a Unix socket that gives the answers which a test has set. Thread-safe.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/check.h"
#include "proto/service.grpc.pb.h"

namespace accel::cli {

class FakeCoordinator final : public v1::Coordinator::Service {
 public:
  // Serves one WatchJob call: writes jobs and returns the status that ends the stream.
  using Watch = std::function<grpc::Status(const v1::WatchJobRequest&, grpc::ServerWriter<v1::Job>*,
                                           FakeCoordinator*)>;

  FakeCoordinator() {
    ACCEL_CHECK(mkdtemp(folder_.data()) != nullptr, "a test can make a folder");
    Start();
  }
  ~FakeCoordinator() override {
    Stop();
    std::filesystem::remove_all(folder_);
  }

  std::string address() const { return "unix:" + folder_ + "/coordinator"; }

  // Starts the server. After Stop(), it listens at the same address again.
  void Start() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address(), grpc::experimental::LocalServerCredentials(UDS));
    builder.RegisterService(this);
    builder.RegisterService(&operations_);
    server_ = builder.BuildAndStart();
  }
  // Also serves this accepted connection, and takes ownership of the descriptor.
  void Serve(int connection) { grpc::AddInsecureChannelFromFd(server_.get(), connection); }
  void Stop() {
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
    server_ = nullptr;
  }

  void FailSubmits(int times, grpc::Status with) {
    absl::MutexLock lock(&mutex_);
    failing_submits_ = times;
    submit_failure_ = std::move(with);
  }
  // Sets how watches are served: the n-th call by the n-th element, later calls by the last one.
  void OnWatch(std::vector<Watch> watches) {
    absl::MutexLock lock(&mutex_);
    watches_ = std::move(watches);
  }
  void SetJobs(v1::ListJobsResponse jobs) {
    absl::MutexLock lock(&mutex_);
    jobs_ = std::move(jobs);
  }
  void SetNodes(v1::ListNodesResponse nodes) {
    absl::MutexLock lock(&mutex_);
    nodes_ = std::move(nodes);
  }
  void SetLogs(std::vector<v1::LogChunk> chunks) { OnReadLogs({{std::move(chunks), {}}}); }
  // The answer to one ReadLogs call: chunks, and the status that ends the stream.
  struct Logs {
    std::vector<v1::LogChunk> chunks;
    grpc::Status end;
  };
  // Sets how ReadLogs is served: the n-th call by the n-th element, later calls by the last one.
  void OnReadLogs(std::vector<Logs> logs) {
    absl::MutexLock lock(&mutex_);
    logs_ = std::move(logs);
  }

  std::vector<v1::SubmitJobRequest> submits() const {
    absl::MutexLock lock(&mutex_);
    return submits_;
  }
  std::vector<v1::CancelJobRequest> cancels() const {
    absl::MutexLock lock(&mutex_);
    return cancels_;
  }
  std::vector<v1::WatchJobRequest> watched() const {
    absl::MutexLock lock(&mutex_);
    return watched_;
  }
  std::vector<v1::ReadLogsRequest> logs_read() const {
    absl::MutexLock lock(&mutex_);
    return logs_read_;
  }
  std::vector<v1::DrainNodeRequest> drains() const {
    absl::MutexLock lock(&mutex_);
    return drains_;
  }
  // Blocks until this many CancelJob calls have arrived.
  void AwaitCancels(size_t count) {
    absl::MutexLock lock(&mutex_);
    const auto enough = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return cancels_.size() >= count; };
    mutex_.Await(absl::Condition(&enough));
  }

  grpc::Status SubmitJob(grpc::ServerContext* context, const v1::SubmitJobRequest* request,
                         v1::SubmitJobResponse* response) override;
  grpc::Status ListJobs(grpc::ServerContext* context, const v1::ListJobsRequest* request,
                        v1::ListJobsResponse* response) override;
  grpc::Status WatchJob(grpc::ServerContext* context, const v1::WatchJobRequest* request,
                        grpc::ServerWriter<v1::Job>* writer) override;
  grpc::Status CancelJob(grpc::ServerContext* context, const v1::CancelJobRequest* request,
                         v1::CancelJobResponse* response) override;
  grpc::Status ListNodes(grpc::ServerContext* context, const v1::ListNodesRequest* request,
                         v1::ListNodesResponse* response) override;
  grpc::Status ReadLogs(grpc::ServerContext* context, const v1::ReadLogsRequest* request,
                        grpc::ServerWriter<v1::LogChunk>* writer) override;

 private:
  class Operations final : public v1::Operations::Service {
   public:
    explicit Operations(FakeCoordinator* of) : of_(*of) {}
    // There is one node, "n1".
    grpc::Status DrainNode(grpc::ServerContext* context, const v1::DrainNodeRequest* request,
                           v1::DrainNodeResponse* response) override;

   private:
    FakeCoordinator& of_;
  };

  std::string folder_ = "/tmp/fake.XXXXXX";  // A socket's path must be short.
  Operations operations_{this};
  std::unique_ptr<grpc::Server> server_;
  mutable absl::Mutex mutex_;
  int failing_submits_ ABSL_GUARDED_BY(mutex_) = 0;
  grpc::Status submit_failure_ ABSL_GUARDED_BY(mutex_);
  std::vector<Watch> watches_ ABSL_GUARDED_BY(mutex_);
  v1::ListJobsResponse jobs_ ABSL_GUARDED_BY(mutex_);
  v1::ListNodesResponse nodes_ ABSL_GUARDED_BY(mutex_);
  std::vector<Logs> logs_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::SubmitJobRequest> submits_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::CancelJobRequest> cancels_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::DrainNodeRequest> drains_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::WatchJobRequest> watched_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::ReadLogsRequest> logs_read_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace accel::cli
