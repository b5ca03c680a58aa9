#include "coordinator/streams.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/job_phase.h"
#include "common/status_macros.h"
#include "coordinator/latest_box.h"
#include "coordinator/report_reader.h"
#include "coordinator/wire.h"

namespace accel::coordinator {
namespace {

constexpr WireBounds kChunkBounds{LogPipe::kMaxChunkBytes + 8192, 64};

// Writes the messages of a source, one at a time, and finishes with the status with which the
// source ends. A source has Pull(callback), and Cancel(), after which Pull() returns the end. So
// there is always either one write or one Pull() in progress until Finish().
template <typename Source>
class WriteStream final : public CallReactor {
 public:
  WriteStream(ServerCall* call, CallPlace place, std::shared_ptr<Source> source)
      : call_(*call), place_(std::move(place)), source_(std::move(source)) {}

  void Begin(std::unique_ptr<Subscription> subscription) {
    subscription_ = std::move(subscription);
    // The client learns that it has reached a coordinator, even if there is nothing to send yet.
    call_.StartSendInitialMetadata();
    Next();
  }

  void OnWriteDone(bool ok) override {
    if (!ok) source_->Cancel();
    Next();
  }
  void OnCancel() override { source_->Cancel(); }

 private:
  void Next() {
    source_->Pull([this](auto value, absl::Status end) {
      if (!value.has_value()) return call_.Finish(end);
      call_.StartWrite(ToBytes(Get(*value)));
    });
  }

  static const v1::LogChunk& Get(const v1::LogChunk& chunk) { return chunk; }
  static const v1::Job& Get(const JobPtr& job) { return *job; }

  ServerCall& call_;
  const CallPlace place_;
  const std::shared_ptr<Source> source_;
  std::unique_ptr<Subscription> subscription_;
};

using JobBox = LatestBox<JobPtr>;
using DesiredBox = LatestBox<DesiredPtr>;

class AgentStream final : public CallReactor {
 public:
  AgentStream(ServerCall* call, Coordinator* coordinator, Admission admission, RefusalLog* log)
      : call_(*call),
        place_(std::move(admission.place)),
        log_(*log),
        peer_(call->peer()),
        desired_(std::make_shared<DesiredBox>()) {
    AgentCallbacks callbacks;
    callbacks.on_desired = [box = desired_](DesiredPtr desired) { box->Put(std::move(desired)); };
    callbacks.on_closed = [box = desired_](absl::Status why) { box->End(std::move(why)); };
    session_ = coordinator->OpenAgentSession(admission.caller, std::move(callbacks));
    Next();
    call_.StartRead(&reading_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return desired_->End(absl::OkStatus());  // The agent has closed its side.
    absl::StatusOr<NodeReport> report = reader_.Read(reading_);
    reading_.Clear();
    if (!report.ok()) {
      log_.Warn("refused a report", peer_, report.status().ToString());
      return desired_->End(report.status());
    }
    session_->Report(*std::move(report));
    call_.StartRead(&reading_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) desired_->Cancel();
    Next();
  }
  void OnCancel() override { desired_->Cancel(); }

 private:
  void Next() {
    desired_->Pull([this](std::optional<DesiredPtr> desired, absl::Status end) {
      if (!desired.has_value()) return call_.Finish(end);
      call_.StartWrite(ToBytes(**desired));
    });
  }

  ServerCall& call_;
  const CallPlace place_;
  RefusalLog& log_;
  const std::string peer_;
  const std::shared_ptr<DesiredBox> desired_;
  std::unique_ptr<AgentSession> session_;
  ReportReader reader_;
  grpc::ByteBuffer reading_;
};

class RelayStream final : public CallReactor {
 public:
  RelayStream(ServerCall* call, Coordinator* coordinator, Admission admission, RefusalLog* log)
      : call_(*call),
        coordinator_(*coordinator),
        admission_(std::move(admission)),
        log_(*log),
        peer_(call->peer()) {
    call_.StartRead(&bytes_);
  }
  ~RelayStream() override {
    if (pipe_ != nullptr) coordinator_.EndRelay(reader_id_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return call_.FinishWith(ToBytes(v1::RelayLogsResponse()));
    v1::LogChunk chunk;
    const absl::Status taken = Take(&chunk);
    bytes_.Clear();
    if (!taken.ok()) {
      log_.Warn("refused relayed output", peer_, taken.ToString());
      return call_.Finish(taken);
    }
    pipe_->Push(std::move(chunk), [this](bool more) {
      if (!more) return call_.Finish(absl::CancelledError("the reader has gone"));
      call_.StartRead(&bytes_);
    });
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
    std::shared_ptr<LogPipe> pipe = coordinator_.FindLogPipe(admission_.caller, reader_id);
    if (pipe == nullptr || !pipe->Open(reader_id)) return false;
    reader_id_ = reader_id;
    pipe_ = std::move(pipe);
    return true;
  }

  ServerCall& call_;
  Coordinator& coordinator_;
  const Admission admission_;
  RefusalLog& log_;
  const std::string peer_;
  std::string reader_id_;
  std::shared_ptr<LogPipe> pipe_;
  grpc::ByteBuffer bytes_;
};

}  // namespace

void ServeWatch(ServerCall* call, Coordinator* coordinator, Admission admission,
                const v1::WatchJobRequest& request) {
  auto box = std::make_shared<JobBox>();
  auto stream = std::make_unique<WriteStream<JobBox>>(call, std::move(admission.place), box);
  stream->Begin(coordinator->WatchJob(admission.caller, common::JobId(request.job_id()),
                                      request.known_version(), [box](absl::StatusOr<JobPtr> job) {
                                        if (!job.ok()) return box->End(job.status());
                                        const bool last = common::IsFinal((*job)->phase());
                                        box->Put(*std::move(job));
                                        if (last) box->End(absl::OkStatus());
                                      }));
  call->React(std::move(stream));
}

void ServeReadLogs(ServerCall* call, Coordinator* coordinator, Admission admission,
                   const v1::ReadLogsRequest& request) {
  auto pipe = std::make_shared<LogPipe>();
  auto stream = std::make_unique<WriteStream<LogPipe>>(call, std::move(admission.place), pipe);
  stream->Begin(coordinator->ReadLogs(admission.caller, request, pipe));
  call->React(std::move(stream));
}

void ServeAgent(ServerCall* call, Coordinator* coordinator, Admission admission, RefusalLog* log) {
  call->React(std::make_unique<AgentStream>(call, coordinator, std::move(admission), log));
}

void ServeRelay(ServerCall* call, Coordinator* coordinator, Admission admission, RefusalLog* log) {
  call->React(std::make_unique<RelayStream>(call, coordinator, std::move(admission), log));
}

}  // namespace accel::coordinator
