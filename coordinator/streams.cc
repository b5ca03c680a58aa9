#include "coordinator/streams.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/grpc_status.h"
#include "common/job_phase.h"
#include "common/status_macros.h"
#include "coordinator/latest_box.h"
#include "coordinator/wire.h"

namespace accel::coordinator {
namespace {

// Enough for 64 generations of 1,024 workers, and for results that the agent still keeps.
constexpr WireBounds kReportBounds{16 << 20, 1'000'000};
constexpr WireBounds kChunkBounds{LogPipe::kMaxChunkBytes + 8192, 64};

// Writes the messages of a source, one at a time, and finishes with the status with which the
// source ends. A source has Pull(callback), and Cancel(), after which Pull() returns the end. So
// exactly one operation is in progress until Finish(), as gRPC requires.
template <typename Source>
class WriteStream : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  explicit WriteStream(std::shared_ptr<Source> source) : source_(std::move(source)) {}

  void Begin(std::unique_ptr<Subscription> subscription) {
    subscription_ = std::move(subscription);
    // The client learns that it has reached a coordinator, even if there is nothing to send yet.
    StartSendInitialMetadata();
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
      if (!value.has_value()) return Finish(common::ToGrpc(end));
      bytes_ = ToBytes(Get(*value));
      StartWrite(&bytes_);
    });
  }

  static const v1::LogChunk& Get(const v1::LogChunk& chunk) { return chunk; }
  static const v1::Job& Get(const JobPtr& job) { return *job; }

  const std::shared_ptr<Source> source_;
  std::unique_ptr<Subscription> subscription_;
  grpc::ByteBuffer bytes_;
};

using JobBox = LatestBox<JobPtr>;
using DesiredBox = LatestBox<DesiredPtr>;

class AgentStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  AgentStream(Coordinator* coordinator, const Caller& caller, RefusalLog* log,
              const std::string& peer)
      : log_(*log), peer_(peer), desired_(std::make_shared<DesiredBox>()) {
    AgentCallbacks callbacks;
    callbacks.on_desired = [box = desired_](DesiredPtr desired) { box->Put(std::move(desired)); };
    callbacks.on_closed = [box = desired_](absl::Status why) { box->End(std::move(why)); };
    session_ = coordinator->OpenAgentSession(caller, std::move(callbacks));
    Next();
    StartRead(&reading_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return desired_->End(absl::OkStatus());  // The agent has closed its side.
    v1::NodeObserved observed;
    const absl::Status parsed = Parse(reading_, kReportBounds, &observed);
    reading_.Clear();
    if (!parsed.ok()) {
      log_.Warn("refused a report", peer_, parsed.ToString());
      return desired_->End(parsed);
    }
    session_->Report(std::move(observed));
    StartRead(&reading_);
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
      if (!desired.has_value()) return Finish(common::ToGrpc(end));
      writing_ = ToBytes(**desired);
      StartWrite(&writing_);
    });
  }

  RefusalLog& log_;
  const std::string peer_;
  const std::shared_ptr<DesiredBox> desired_;
  std::unique_ptr<AgentSession> session_;
  grpc::ByteBuffer reading_;
  grpc::ByteBuffer writing_;
};

class RelayStream final : public grpc::ServerReadReactor<grpc::ByteBuffer> {
 public:
  RelayStream(Coordinator* coordinator, const Caller& caller, RefusalLog* log,
              const std::string& peer)
      : coordinator_(coordinator), caller_(caller), log_(*log), peer_(peer) {
    StartRead(&bytes_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    v1::LogChunk chunk;
    const absl::Status taken = Take(&chunk);
    bytes_.Clear();
    if (!taken.ok()) {
      log_.Warn("refused relayed output", peer_, taken.ToString());
      return Finish(common::ToGrpc(taken));
    }
    pipe_->Push(std::move(chunk), [this](bool more) {
      if (!more) return Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the reader has gone"));
      StartRead(&bytes_);
    });
  }
  void OnDone() override {
    if (pipe_ != nullptr) coordinator_->EndRelay(reader_id_);
    delete this;
  }

 private:
  absl::Status Take(v1::LogChunk* chunk) {
    ACCEL_RETURN_IF_ERROR(Parse(bytes_, kChunkBounds, chunk));
    if (chunk->data().size() > LogPipe::kMaxChunkBytes) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "data: has ", chunk->data().size(), " bytes; at most ", LogPipe::kMaxChunkBytes));
    }
    if (pipe_ == nullptr && !Join(chunk->reader_id())) {
      return absl::NotFoundError("no client reads under this reader_id");
    }
    if (chunk->reader_id() == reader_id_) return absl::OkStatus();
    return absl::InvalidArgumentError("reader_id: changed within one stream");
  }

  // Opens the relay that the first chunk names. Returns false if no client reads under that id.
  bool Join(const std::string& reader_id) {
    std::shared_ptr<LogPipe> pipe = coordinator_->FindLogPipe(caller_, reader_id);
    if (pipe == nullptr || !pipe->Open(reader_id)) return false;
    reader_id_ = reader_id;
    pipe_ = std::move(pipe);
    return true;
  }

  Coordinator* const coordinator_;
  const Caller caller_;
  RefusalLog& log_;
  const std::string peer_;
  std::string reader_id_;
  std::shared_ptr<LogPipe> pipe_;
  grpc::ByteBuffer bytes_;
};

}  // namespace

grpc::ServerWriteReactor<grpc::ByteBuffer>* NewWatchStream(Coordinator* coordinator,
                                                           const Caller& caller,
                                                           const v1::WatchJobRequest& request) {
  auto box = std::make_shared<JobBox>();
  auto* stream = new WriteStream<JobBox>(box);
  stream->Begin(coordinator->WatchJob(caller, common::JobId(request.job_id()),
                                      request.known_version(), [box](absl::StatusOr<JobPtr> job) {
                                        if (!job.ok()) return box->End(job.status());
                                        const bool last = common::IsFinal((*job)->phase());
                                        box->Put(*std::move(job));
                                        if (last) box->End(absl::OkStatus());
                                      }));
  return stream;
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* NewReadLogsStream(Coordinator* coordinator,
                                                              const Caller& caller,
                                                              const v1::ReadLogsRequest& request) {
  auto pipe = std::make_shared<LogPipe>();
  auto* stream = new WriteStream<LogPipe>(pipe);
  stream->Begin(coordinator->ReadLogs(caller, request, pipe));
  return stream;
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* NewAgentStream(
    Coordinator* coordinator, const Caller& caller, RefusalLog* log, const std::string& peer) {
  return new AgentStream(coordinator, caller, log, peer);
}

grpc::ServerReadReactor<grpc::ByteBuffer>* NewRelayStream(Coordinator* coordinator,
                                                          const Caller& caller, RefusalLog* log,
                                                          const std::string& peer) {
  return new RelayStream(coordinator, caller, log, peer);
}

}  // namespace accel::coordinator
