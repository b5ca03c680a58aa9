#include "cli/machines/run_client.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/support/channel_arguments.h>

#include <chrono>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/render/escape.h"
#include "common/clock.h"
#include "common/grpc_status.h"
#include "security/client_credentials.h"

namespace accel::cli {
namespace {

constexpr absl::Duration kPause = absl::Milliseconds(50);
constexpr int kFirstReconnectMillis = 50;
constexpr int kLongestReconnectMillis = 500;
// One attempt to connect. The machine that serves may be slow, but an attempt at an address where
// nothing answers must not last until the end of the timeout.
constexpr int kConnectMillis = 5'000;
// A host that has vanished without a word is noticed after the sum of these two.
constexpr int kPingMillis = 1'000;
constexpr int kPingTimeoutMillis = 2'000;
constexpr int kMaxNewsBytes = 64 << 20;

}  // namespace

std::string RunTarget(const std::vector<std::string>& addresses) {
  if (addresses.size() == 1) return addresses.front();
  // A list has one family. An IPv4 address has a form in the other one.
  std::vector<std::string> listed;
  for (const std::string& address : addresses) {
    listed.push_back(address.starts_with('[')
                         ? address
                         : absl::StrCat("[::ffff:", absl::StrReplaceAll(address, {{":", "]:"}})));
  }
  return absl::StrCat("ipv6:", absl::StrJoin(listed, ","));
}

std::shared_ptr<grpc::Channel> OpenRunChannel(const std::vector<std::string>& addresses,
                                              const security::ClientIdentity& identity) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMillis);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectMillis);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLongestReconnectMillis);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kPingMillis);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingTimeoutMillis);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(kMaxNewsBytes);
  security::ExpectServerName(&arguments);
  return grpc::CreateCustomChannel(RunTarget(addresses), security::MakeClientCredentials(identity),
                                   arguments);
}

absl::Status FinalError(const absl::Status& ended, const MeetingPlace& place,
                        const std::string& key_source) {
  if (ended.ok()) return absl::UnavailableError("the machine that serves has closed the stream");
  if (absl::IsDeadlineExceeded(ended)) return ended;
  if (!absl::IsUnavailable(ended)) {
    return absl::Status(ended.code(), EscapeControls(ended.message()));
  }
  // gRPC has no code for a handshake that failed.
  if (!absl::StrContains(ended.message(), "certificate verify failed")) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(place.text(),
                   " has another key, or serves another launch. This machine's key is ", key_source,
                   ". Copy ~/.config/accel/token from the machine that serves, or set "
                   "ACCEL_LAUNCH_KEY_FILE on all machines; --num_machines, --main_process_ip, "
                   "--main_process_port and --rdzv_id must be the same on all of them"));
}

RunClient::RunClient(std::shared_ptr<grpc::Channel> channel, v1::RunMachine machine,
                     MeetingPlace place, std::string key_source)
    : channel_(std::move(channel)),
      stub_(v1::Run::NewStub(channel_)),
      machine_(std::move(machine)),
      place_(std::move(place)),
      key_source_(std::move(key_source)),
      thread_([this] { Run(); }) {}

RunClient::~RunClient() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    if (context_ != nullptr) context_->TryCancel();
  }
  thread_.join();
}

std::optional<v1::RunNews> RunClient::news() {
  absl::MutexLock lock(&mutex_);
  return news_;
}

absl::Status RunClient::ended() {
  absl::MutexLock lock(&mutex_);
  return ended_;
}

void RunClient::Signal(int signal, bool at_once) {
  v1::RunRequest request;
  request.set_signal(signal);
  request.set_at_once(at_once);
  absl::MutexLock lock(&mutex_);
  // The message is small, so it fits the stream's window and the call does not block. If the stream
  // has ended, the run has too.
  if (stream_ != nullptr) stream_->Write(request);
}

bool RunClient::stopping() {
  absl::MutexLock lock(&mutex_);
  return stopping_;
}

void RunClient::Run() {
  const absl::Time deadline = common::SteadyClock()->Now() + place_.timeout;
  absl::Status why;
  while (why.ok() && !stopping()) {
    absl::Status ended = RunStream();
    const bool took_part = news().has_value();
    why = FinalError(ended, place_, key_source_);
    if (why.ok() && took_part) {
      why = absl::UnavailableError(absl::StrCat("the machine that serves (", place_.text(),
                                                ") is gone: its connection has ended"));
    }
    if (why.ok() && common::SteadyClock()->Now() >= deadline) {
      why = absl::DeadlineExceededError(absl::StrCat(
          "no machine serves at ", place_.text(), " after ", absl::FormatDuration(place_.timeout),
          " (", EscapeControls(ended.message()), "); run the same command on it"));
    }
    if (!why.ok() || stopping()) break;
    // gRPC connects while a thread is inside this call.
    channel_->WaitForConnected(std::chrono::system_clock::now() +
                               absl::ToChronoMilliseconds(kPause));
  }
  absl::MutexLock lock(&mutex_);
  ended_ = why.ok() ? absl::CancelledError("this machine has left the run") : why;
  wake_.Wake();
}

absl::Status RunClient::RunStream() {
  grpc::ClientContext context;
  {
    absl::MutexLock lock(&mutex_);
    if (stopping_) return absl::CancelledError("this machine has left the run");
    context_ = &context;
  }
  const std::unique_ptr<Stream> stream = stub_->Join(&context);
  v1::RunRequest request;
  *request.mutable_machine() = machine_;
  stream->Write(request);
  {
    absl::MutexLock lock(&mutex_);
    stream_ = stream.get();
  }
  v1::RunNews news;
  while (stream->Read(&news)) {
    absl::MutexLock lock(&mutex_);
    news_ = news;
    wake_.Wake();
  }
  {
    absl::MutexLock lock(&mutex_);
    stream_ = nullptr;
  }
  const grpc::Status status = stream->Finish();
  absl::MutexLock lock(&mutex_);
  context_ = nullptr;
  return common::FromGrpc(status);
}

}  // namespace accel::cli
