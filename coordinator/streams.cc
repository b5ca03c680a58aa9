#include "coordinator/streams.h"

#include <memory>
#include <optional>
#include <utility>

#include "common/grpc_status.h"
#include "common/job_phase.h"
#include "coordinator/latest_box.h"

namespace accel {
namespace {

// Writes what a source has, one message at a time, and finishes with the status that it ends with.
// A source has Pull(callback) and Cancel(), after which Pull() ends: so exactly one operation is
// under way until Finish().
template <typename Message, typename Source>
class WriteStream : public grpc::ServerWriteReactor<Message> {
 public:
  explicit WriteStream(std::shared_ptr<Source> source) : source_(std::move(source)) {}

  void Begin(std::unique_ptr<Subscription> subscription) {
    subscription_ = std::move(subscription);
    Next();
  }

  void OnWriteDone(bool ok) override {
    if (!ok) source_->Cancel();
    Next();
  }
  void OnCancel() override { source_->Cancel(); }
  void OnDone() override { delete this; }

 private:
  void Next() {
    source_->Pull([this](auto value, absl::Status end) {
      if (!value.has_value()) return this->Finish(ToGrpc(end));
      message_ = *std::move(value);
      this->StartWrite(&Get(message_));
    });
  }

  static const Message& Get(const Message& message) { return message; }
  static const Message& Get(const std::shared_ptr<const Message>& message) { return *message; }

  const std::shared_ptr<Source> source_;
  std::unique_ptr<Subscription> subscription_;
  std::conditional_t<std::is_same_v<Source, LatestBox<std::shared_ptr<const Message>>>,
                     std::shared_ptr<const Message>, Message>
      message_;
};

using JobBox = LatestBox<JobPtr>;
using DesiredBox = LatestBox<DesiredPtr>;

class AgentStream final : public grpc::ServerBidiReactor<v1::NodeObserved, v1::NodeDesired> {
 public:
  explicit AgentStream(Coordinator* coordinator) : desired_(std::make_shared<DesiredBox>()) {
    AgentCallbacks callbacks;
    callbacks.on_desired = [box = desired_](DesiredPtr desired) { box->Put(std::move(desired)); };
    callbacks.on_closed = [box = desired_](absl::Status why) { box->End(std::move(why)); };
    session_ = coordinator->OpenAgentSession(std::move(callbacks));
    Next();
    StartRead(&observed_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return desired_->End(absl::OkStatus());  // The agent has no more to say.
    session_->Report(std::move(observed_));
    observed_.Clear();
    StartRead(&observed_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) desired_->Cancel();
    Next();
  }
  void OnCancel() override { desired_->Cancel(); }
  void OnDone() override { delete this; }

 private:
  void Next() {
    desired_->Pull([this](std::optional<DesiredPtr> desired, absl::Status end) {
      if (!desired.has_value()) return Finish(ToGrpc(end));
      writing_ = *std::move(desired);
      StartWrite(writing_.get());
    });
  }

  const std::shared_ptr<DesiredBox> desired_;
  std::unique_ptr<AgentSession> session_;
  v1::NodeObserved observed_;
  DesiredPtr writing_;
};

class RelayStream final : public grpc::ServerReadReactor<v1::LogChunk> {
 public:
  explicit RelayStream(Coordinator* coordinator) : coordinator_(coordinator) { StartRead(&chunk_); }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    if (pipe_ == nullptr && !Join()) {
      return Finish(grpc::Status(grpc::StatusCode::NOT_FOUND, "nobody reads under this reader_id"));
    }
    if (chunk_.reader_id() != reader_id_) {
      return Finish(
          grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "reader_id: changed within one stream"));
    }
    pipe_->Push(std::move(chunk_), [this](bool more) {
      if (!more) return Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the reader has gone"));
      chunk_.Clear();
      StartRead(&chunk_);
    });
  }
  void OnDone() override {
    if (pipe_ != nullptr) pipe_->Close(reader_id_, rank_, "its node has stopped relaying");
    delete this;
  }

 private:
  // The first chunk says who it is for.
  bool Join() {
    std::shared_ptr<LogPipe> pipe = coordinator_->FindLogPipe(chunk_.reader_id());
    if (pipe == nullptr || !pipe->Open(chunk_.reader_id())) return false;
    reader_id_ = chunk_.reader_id();
    rank_ = chunk_.rank();
    pipe_ = std::move(pipe);
    return true;
  }

  Coordinator* const coordinator_;
  std::string reader_id_;
  int rank_ = 0;
  std::shared_ptr<LogPipe> pipe_;
  v1::LogChunk chunk_;
};

}  // namespace

grpc::ServerWriteReactor<v1::Job>* NewWatchStream(Coordinator* coordinator,
                                                  const v1::WatchJobRequest& request) {
  auto box = std::make_shared<JobBox>();
  auto* stream = new WriteStream<v1::Job, JobBox>(box);
  stream->Begin(coordinator->WatchJob(JobId(request.job_id()), request.known_version(),
                                      [box](absl::StatusOr<JobPtr> job) {
                                        if (!job.ok()) return box->End(job.status());
                                        const bool last = IsFinal((*job)->phase());
                                        box->Put(*std::move(job));
                                        if (last) box->End(absl::OkStatus());
                                      }));
  return stream;
}

grpc::ServerWriteReactor<v1::LogChunk>* NewReadLogsStream(Coordinator* coordinator,
                                                          const v1::ReadLogsRequest& request) {
  auto pipe = std::make_shared<LogPipe>();
  auto* stream = new WriteStream<v1::LogChunk, LogPipe>(pipe);
  stream->Begin(coordinator->ReadLogs(request, pipe));
  return stream;
}

grpc::ServerBidiReactor<v1::NodeObserved, v1::NodeDesired>* NewAgentStream(
    Coordinator* coordinator) {
  return new AgentStream(coordinator);
}

grpc::ServerReadReactor<v1::LogChunk>* NewRelayStream(Coordinator* coordinator) {
  return new RelayStream(coordinator);
}

}  // namespace accel
