#include "agent/grpc_link.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/time/clock.h"
#include "agent/session_pauses.h"
#include "common/clock.h"
#include "common/grpc_status.h"
#include "common/log.h"
#include "security/rotation.h"

namespace accel::agent {
namespace {

// Interval at which a link that waits for a connection checks whether it is being destroyed.
constexpr absl::Duration kLook = absl::Milliseconds(100);
// Minimum for the limit of a report's size. A report that has shrunk to it has no texts left that
// could be dropped.
constexpr int64_t kLeastReportBytes = 64 << 10;
// Minimum time between two log lines about sessions that ended with the same code. It bounds the
// log, because a coordinator may be down for months.
constexpr absl::Duration kLogPause = absl::Minutes(1);

// Returns why this node does not trust the coordinator. Empty if the session ended
// for another reason.
std::string WhyForeign(const absl::Status& why) {
  if (!absl::IsUnavailable(why)) return "";
  return security::ExplainForeignServer(
      why.message(), "the coordinator",
      "make a key with `accel node add`, stop this agent, and run: accel-agent join", absl::Now());
}

}  // namespace

int64_t NextReportBytes(int64_t now, const absl::Status& why) {
  return absl::IsResourceExhausted(why) ? std::max(now / 2, kLeastReportBytes) : kMaxReportBytes;
}

GrpcLink::GrpcLink(std::shared_ptr<SessionChannels> channels)
    : channels_(std::move(channels)),
      channel_(channels_->newest()),
      reader_([this] { Read(); }),
      writer_([this] { Write(); }) {}

GrpcLink::~GrpcLink() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    if (context_ != nullptr) context_->TryCancel();
  }
  stop_.Notify();
  reader_.join();
  writer_.join();
}

uint64_t GrpcLink::session() {
  absl::MutexLock lock(&mutex_);
  return session_;
}

void GrpcLink::Report(v1::NodeObserved observed) {
  absl::MutexLock lock(&mutex_);
  to_send_ = std::move(observed);
}

int64_t GrpcLink::max_report_bytes() {
  absl::MutexLock lock(&mutex_);
  return max_report_bytes_;
}

std::optional<v1::NodeDesired> GrpcLink::TakeDesired(uint64_t session) {
  wake_.Clear();
  absl::MutexLock lock(&mutex_);
  // The desired state of an ended session counts until the next session begins.
  if (session == sessions_ && session != 0) return std::exchange(received_, std::nullopt);
  // A new session has begun since the caller read the number. It may already have a desired state,
  // so the caller is woken again.
  if (session_ != 0) wake_.Wake();
  return std::nullopt;
}

absl::Status GrpcLink::fatal() {
  absl::MutexLock lock(&mutex_);
  return fatal_;
}

// The reading thread: runs a session, pauses, and runs the next one.
void GrpcLink::Read() {
  SessionPauses pauses;
  while (true) {
    bool heard = false;
    const absl::Status why = RunSession(&heard);
    NoteEnd(why);
    {
      absl::MutexLock lock(&mutex_);
      if (stopping_ || !fatal_.ok()) return;
    }
    LogEnd(why);
    const SessionEnd end = absl::IsUnauthenticated(why) || !WhyForeign(why).empty()
                               ? SessionEnd::kRefused
                               : SessionEnd::kLost;
    const absl::Duration pause = pauses.Next(end, heard);
    // A new channel does not connect before its first call. Connecting immediately after a refusal
    // would only cause the next refusal.
    if (end == SessionEnd::kRefused) channel_ = channels_->Reopen();
    if (!(end == SessionEnd::kRefused ? PauseQuietly(pause) : Pause(pause))) return;
  }
}

void GrpcLink::LogEnd(const absl::Status& why) {
  const std::string foreign = WhyForeign(why);
  common::LogThrottle& throttle =
      ends_.try_emplace({why.code(), !foreign.empty()}, kLogPause).first->second;
  const auto left_out = throttle.Admit(common::SteadyClock()->Now());
  if (!left_out.has_value()) return;
  if (!foreign.empty()) {
    common::LogError(foreign, {{"same_since_last_line", *left_out}});
  } else if (absl::IsUnauthenticated(why)) {
    common::LogError("the coordinator refuses this node's certificate",
                     {{"why", std::string(why.message())}, {"same_since_last_line", *left_out}});
  } else if (absl::IsResourceExhausted(why)) {
    common::LogWarning("the coordinator rejected this node's report; the next one is smaller",
                       {{"why", why.ToString()},
                        {"at_most_bytes", max_report_bytes()},
                        {"same_since_last_line", *left_out}});
  } else {
    common::LogWarning("coordinator unreachable, retrying",
                       {{"why", why.ToString()}, {"same_since_last_line", *left_out}});
  }
}

absl::Status GrpcLink::RunSession(bool* heard) {
  grpc::ClientContext context;
  {
    absl::MutexLock lock(&mutex_);
    if (stopping_) return absl::CancelledError("the agent is stopping");
    context_ = &context;
  }
  channel_ = channels_->Adopt();
  const std::unique_ptr<v1::Coordinator::Stub> stub = v1::Coordinator::NewStub(channel_);
  // Blocks until there is a connection. No lock may be held, or the agent's loop would block too.
  const std::unique_ptr<Stream> stream = stub->Agent(&context);
  {
    absl::MutexLock lock(&mutex_);
    stream_ = stream.get();
    session_ = ++sessions_;
    to_send_.reset();
    received_.reset();
  }
  wake_.Wake();
  v1::NodeDesired desired;
  while (stream->Read(&desired)) {
    if (!*heard) common::LogInfo("connected to the coordinator");
    {
      absl::MutexLock lock(&mutex_);
      received_ = std::move(desired);
      was_connected_ = *heard = true;
    }
    desired.Clear();
    wake_.Wake();
  }
  {
    absl::MutexLock lock(&mutex_);
    session_ = 0;
    stream_ = nullptr;
    mutex_.Await(absl::Condition(
        +[](bool* writing) { return !*writing; }, &writing_));
  }
  const grpc::Status status = stream->Finish();
  absl::MutexLock lock(&mutex_);
  context_ = nullptr;
  return common::FromGrpc(status);
}

void GrpcLink::NoteEnd(const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    const bool refused = absl::IsUnauthenticated(why) && !was_connected_;
    if (refused || absl::IsAlreadyExists(why)) fatal_ = why;
    max_report_bytes_ = NextReportBytes(max_report_bytes_, why);
  }
  wake_.Wake();
}

// gRPC reads a channel's sockets only while a thread is in one of gRPC's calls, and
// otherwise every 5 s. A link without a connection therefore pauses in such a call, to
// notice the connection immediately.
bool GrpcLink::Pause(absl::Duration pause) {
  if (channel_->GetState(false) == GRPC_CHANNEL_READY) {
    return PauseQuietly(pause);
  }
  const absl::Time end = common::SteadyClock()->Now() + pause;
  for (absl::Duration left = pause; left > absl::ZeroDuration() && !Stopping();
       left = end - common::SteadyClock()->Now()) {
    const auto look_up =
        std::chrono::system_clock::now() + absl::ToChronoMicroseconds(std::min(left, kLook));
    if (channel_->WaitForConnected(look_up)) break;
  }
  return !Stopping();
}

bool GrpcLink::PauseQuietly(absl::Duration pause) {
  stop_.WaitFor(pause);
  return !Stopping();
}

bool GrpcLink::Stopping() {
  absl::MutexLock lock(&mutex_);
  return stopping_;
}

// The writing thread: sends the newest report as soon as the previous one has been sent.
void GrpcLink::Write() {
  const auto due = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || (stream_ != nullptr && to_send_.has_value());
  };
  while (true) {
    v1::NodeObserved observed;
    Stream* stream;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&due));
      if (stopping_) return;
      observed = *std::exchange(to_send_, std::nullopt);
      stream = stream_;
      writing_ = true;
    }
    stream->Write(observed);  // A failure also ends the reads and the session.
    absl::MutexLock lock(&mutex_);
    writing_ = false;
  }
}

}  // namespace accel::agent
