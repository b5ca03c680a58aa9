#include "agent/grpc_log_relays.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/log_source.h"
#include "agent/state/job_folder.h"
#include "common/priority.h"
#include "common/relay_limit.h"
#include "common/status_macros.h"
#include "common/wakeup.h"
#include "logs/log_paths.h"
#include "process/user_rights.h"
#include "proto/service.grpc.pb.h"

namespace accel::agent {
namespace {

// The interval at which a relay looks for new output. It grows from kFirstLook to kSlowestLook
// while the rank prints nothing.
constexpr absl::Duration kFirstLook = absl::Milliseconds(50);
constexpr absl::Duration kSlowestLook = absl::Milliseconds(400);
constexpr double kSlowdown = 1.05;  // Growth of the interval from one look to the next.

}  // namespace

class GrpcLogRelays::Relay {
 public:
  Relay(const std::shared_ptr<grpc::Channel>& channel, RelaySource source)
      : stub_(v1::Coordinator::NewStub(channel)),
        source_(std::move(source)),
        complete_(source_.complete) {
    thread_ = std::thread([this] {
      common::LowerThreadPriority();
      Run();
    });
  }

  ~Relay() {
    Stop();
    thread_.join();
  }

  // Makes the relay end as soon as its present access to the disk returns. Does not wait
  // for the end.
  void Stop() {
    {
      absl::MutexLock lock(&mutex_);
      stopping_ = true;
    }
    wake_.Notify();
    context_.TryCancel();
  }

  // Returns true if the relay has ended. The destructor then does not block.
  bool done() const { return done_; }

  void SetComplete() {
    {
      absl::MutexLock lock(&mutex_);
      if (std::exchange(complete_, true)) return;
    }
    wake_.Notify();
  }

 private:
  using Stream = grpc::ClientWriter<v1::LogChunk>;
  using Sources = std::vector<std::unique_ptr<LogSource>>;

  void Run() {
    v1::RelayLogsResponse response;
    const std::unique_ptr<Stream> stream = stub_->RelayLogs(&context_, &response);
    SendAll(stream.get());
    stream->WritesDone();
    // The status is ignored, because a reader that has not received the end is listed again by the
    // coordinator, under another id.
    stream->Finish();
    done_ = true;
  }

  void SendAll(Stream* stream) {
    v1::LogChunk end;
    const absl::Status status = SendOutput(stream);
    if (absl::IsCancelled(status)) return;
    end.set_end(true);
    if (!status.ok()) end.set_error(std::string(status.message()));
    Write(stream, std::move(end));
  }

  // Sends the output until there is no more. CANCELLED: the reader is gone. Other errors must be
  // sent to the reader.
  absl::Status SendOutput(Stream* stream) {
    const v1::LogReader& asked = source_.reader;
    if (!source_.refusal.empty()) return absl::PermissionDeniedError(source_.refusal);
    const std::string dir = logs::RankLogDir(source_.log_dir, asked.rank());
    Sources streams;
    absl::Duration look = kFirstLook;
    while (true) {
      // Checked before reading, so that output that is already complete is read to its end.
      const bool complete = Complete();
      // Found out again each time, because the job's folder may not exist yet.
      const std::optional<process::Account> user = Reader();
      if (user && streams.empty()) ACCEL_RETURN_IF_ERROR(OpenSources(dir, *user, &streams));
      bool any = false;
      for (const std::unique_ptr<LogSource>& each : streams) {
        std::optional<v1::LogChunk> chunk;
        if (user) chunk = NextOf(each.get(), *user);
        if (!chunk.has_value()) continue;
        any = true;
        if (!Write(stream, *std::move(chunk))) return absl::CancelledError();
      }
      if (any) {
        look = kFirstLook;
        continue;
      }
      if (complete && !(user && Exists(dir, *user))) return NothingLeft();
      if (complete || !asked.follow()) break;
      if (Pause(look)) return absl::CancelledError();
      look = std::min(look * kSlowdown, kSlowestLook);
    }
    for (const std::unique_ptr<LogSource>& each : streams) {
      std::optional<v1::LogChunk> rest = each->Rest();
      if (rest.has_value() && !Write(stream, *std::move(rest))) return absl::CancelledError();
    }
    return absl::OkStatus();
  }

  // Opens the streams that the reader asked for, with the rights of the user.
  absl::Status OpenSources(const std::string& dir, const process::Account& user, Sources* sources) {
    for (const v1::LogStream kind : {v1::STDOUT, v1::STDERR}) {
      const v1::LogStream wanted = source_.reader.selection().stream();
      if (wanted != v1::LOG_STREAM_UNSPECIFIED && wanted != kind) continue;
      const process::UserRights rights(user);
      ACCEL_ASSIGN_OR_RETURN(
          sources->emplace_back(),
          LogSource::Open(dir, kind, source_.reader, [this] { return Stopping(); }));
    }
    return absl::OkStatus();
  }

  // Returns the account with whose rights files must be read: the owner of the job's folder, or the
  // user of the reader. Returns nullopt while that folder does not exist, because its owner is then
  // not known.
  std::optional<process::Account> Reader() const {
    if (source_.user.has_value()) return *source_.user;
    if (!source_.jobs_dir.empty()) {
      return OwnerOfJobFolder(source_.jobs_dir, common::JobId(source_.reader.job_id()));
    }
    process::Account self;
    self.uid = geteuid();
    return self;
  }

  static std::optional<v1::LogChunk> NextOf(LogSource* source, const process::Account& user) {
    const process::UserRights rights(user);
    return source->Next();
  }

  static bool Exists(const std::string& dir, const process::Account& user) {
    const process::UserRights rights(user);
    struct stat info = {};
    return stat(dir.c_str(), &info) == 0;
  }

  absl::Status NothingLeft() const {
    return absl::NotFoundError(
        absl::StrCat("its node has no output of generation ", source_.reader.generation(),
                     ": it was deleted to make room, or the rank was not started"));
  }

  // Returns false if the reader is gone.
  bool Write(Stream* stream, v1::LogChunk chunk) const {
    chunk.set_reader_id(source_.reader.reader_id());
    chunk.set_generation(source_.reader.generation());
    chunk.set_rank(source_.reader.rank());
    return stream->Write(chunk);
  }

  bool Complete() {
    absl::MutexLock lock(&mutex_);
    return complete_;
  }

  bool Stopping() {
    absl::MutexLock lock(&mutex_);
    return stopping_;
  }

  // Returns true if the relay must end.
  bool Pause(absl::Duration look) {
    wake_.WaitFor(look);
    return Stopping();
  }

  const std::unique_ptr<v1::Coordinator::Stub> stub_;
  const RelaySource source_;
  grpc::ClientContext context_;
  absl::Mutex mutex_;
  bool complete_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  common::Wakeup wake_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

GrpcLogRelays::GrpcLogRelays(std::shared_ptr<SessionChannels> channels)
    : channels_(std::move(channels)) {}

GrpcLogRelays::GrpcLogRelays(const std::shared_ptr<grpc::Channel>& channel)
    : GrpcLogRelays(std::make_shared<SessionChannels>([channel] { return channel; })) {}

GrpcLogRelays::~GrpcLogRelays() = default;

void GrpcLogRelays::Set(const std::vector<RelaySource>& sources) {
  std::set<std::string> wanted;
  for (const RelaySource& source : sources) wanted.insert(source.reader.reader_id());
  StopAllBut(wanted);
  // Relays that are ending still have a thread, so they count.
  size_t running = ending_.size();
  for (auto& [id, relay] : relays_) {
    if (relay != nullptr && relay->done()) relay = nullptr;
    running += relay != nullptr;
  }
  for (const RelaySource& source : sources) {
    const auto found = relays_.find(source.reader.reader_id());
    if (found == relays_.end() && running < common::kMaxRelays) {
      relays_[source.reader.reader_id()] = std::make_unique<Relay>(channels_->present(), source);
      ++running;
    } else if (found != relays_.end() && found->second != nullptr && source.complete) {
      found->second->SetComplete();
    }
  }
}

void GrpcLogRelays::StopAllBut(const std::set<std::string>& wanted) {
  for (auto entry = relays_.begin(); entry != relays_.end();) {
    if (wanted.contains(entry->first)) {
      ++entry;
      continue;
    }
    if (entry->second != nullptr) {
      entry->second->Stop();
      ending_.push_back(std::move(entry->second));
    }
    entry = relays_.erase(entry);
  }
  std::erase_if(ending_, [](const auto& relay) { return relay->done(); });
}

}  // namespace accel::agent
