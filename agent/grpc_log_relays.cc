#include "agent/grpc_log_relays.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/wakeup.h"
#include "logs/log_paths.h"
#include "logs/log_reader.h"

namespace accel::agent {
namespace {

constexpr size_t kChunkBytes = 64 << 10;
// The interval at which a relay looks for new output. It starts with the first and grows while the
// rank prints nothing. There are no relays without readers.
constexpr absl::Duration kFirstLook = absl::Milliseconds(50);
constexpr absl::Duration kSlowestLook = absl::Milliseconds(400);
constexpr double kSlowdown = 1.05;  // Growth of the interval from one look to the next.

}  // namespace

class GrpcLogRelays::Relay {
 public:
  Relay(v1::Coordinator::Stub* stub, const std::string& token, RelaySource source)
      : source_(std::move(source)), complete_(source_.complete) {
    context_.AddMetadata("authorization", absl::StrCat("Bearer ", token));
    thread_ = std::thread([this, stub] { Run(stub); });
  }

  ~Relay() {
    {
      absl::MutexLock lock(&mutex_);
      stopping_ = true;
    }
    wake_.Notify();
    context_.TryCancel();
    thread_.join();
  }

  // Returns true if it has sent everything that it ever will.
  bool done() const { return done_; }

  void SetComplete() {
    {
      absl::MutexLock lock(&mutex_);
      if (std::exchange(complete_, true)) return;
    }
    wake_.Notify();
  }

 private:
  void Run(v1::Coordinator::Stub* stub) {
    v1::RelayLogsResponse response;
    const std::unique_ptr<grpc::ClientWriter<v1::LogChunk>> stream =
        stub->RelayLogs(&context_, &response);
    SendAll(stream.get());
    stream->WritesDone();
    // The status is ignored: the reader has received the end or is gone, so no one could be told.
    stream->Finish();
    done_ = true;
  }

  void SendAll(grpc::ClientWriter<v1::LogChunk>* stream) {
    const v1::LogReader& asked = source_.reader;
    const std::string dir = logs::RankLogDir(source_.log_dir, asked.rank());
    logs::LogReader out(dir, logs::LogStream::kStdout, asked.stdout_offset());
    logs::LogReader err(dir, logs::LogStream::kStderr, asked.stderr_offset());
    absl::Duration look = kFirstLook;
    while (true) {
      // Checked before reading. Output that was complete by then is read to its end.
      const bool last = Complete() || !asked.follow();
      bool any = false;
      if (!Send(stream, &out, v1::STDOUT, &any) || !Send(stream, &err, v1::STDERR, &any)) return;
      if (any) {
        look = kFirstLook;
        continue;
      }
      if (last) break;
      if (Pause(look)) return;
      look = std::min(look * kSlowdown, kSlowestLook);
    }
    v1::LogChunk end = Chunk();
    end.set_end(true);
    stream->Write(end);
  }

  // Sends one piece of a stream, if there is any. Returns false if the reader is gone.
  bool Send(grpc::ClientWriter<v1::LogChunk>* stream, logs::LogReader* reader, v1::LogStream kind,
            bool* any) {
    std::string data(kChunkBytes, '\0');
    const logs::LogReader::Piece piece = reader->Read(data.data(), data.size());
    if (piece.size == 0 && piece.gap == 0) return true;
    *any = true;
    data.resize(piece.size);
    v1::LogChunk chunk = Chunk();
    chunk.set_stream(kind);
    chunk.set_offset(piece.offset);
    chunk.set_gap_bytes(piece.gap);
    chunk.set_data(std::move(data));
    return stream->Write(chunk);
  }

  v1::LogChunk Chunk() const {
    v1::LogChunk chunk;
    chunk.set_reader_id(source_.reader.reader_id());
    chunk.set_generation(source_.reader.generation());
    chunk.set_rank(source_.reader.rank());
    return chunk;
  }

  bool Complete() {
    absl::MutexLock lock(&mutex_);
    return complete_;
  }

  // Returns true if the relay must end.
  bool Pause(absl::Duration look) {
    wake_.WaitFor(look);
    absl::MutexLock lock(&mutex_);
    return stopping_;
  }

  const RelaySource source_;
  grpc::ClientContext context_;
  absl::Mutex mutex_;
  bool complete_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  common::Wakeup wake_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

GrpcLogRelays::GrpcLogRelays(std::shared_ptr<grpc::Channel> channel, const common::LiveToken* token)
    : stub_(v1::Coordinator::NewStub(std::move(channel))), token_(token) {}

GrpcLogRelays::~GrpcLogRelays() = default;

void GrpcLogRelays::Set(const std::vector<RelaySource>& sources) {
  std::set<std::string> wanted;
  for (const RelaySource& source : sources) wanted.insert(source.reader.reader_id());
  std::erase_if(relays_, [&](const auto& entry) { return !wanted.contains(entry.first); });
  size_t running = 0;
  for (auto& [id, relay] : relays_) {
    if (relay != nullptr && relay->done()) relay = nullptr;
    running += relay != nullptr;
  }
  for (const RelaySource& source : sources) {
    const auto found = relays_.find(source.reader.reader_id());
    if (found == relays_.end() && running < kMaxRelays) {
      relays_[source.reader.reader_id()] =
          std::make_unique<Relay>(stub_.get(), token_->Get(), source);
      ++running;
    } else if (found != relays_.end() && found->second != nullptr && source.complete) {
      found->second->SetComplete();
    }
  }
}

}  // namespace accel::agent
