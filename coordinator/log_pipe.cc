#include "coordinator/log_pipe.h"

#include <algorithm>
#include <utility>

namespace accel::coordinator {
namespace {

// Maximum number of pending chunks per rank with which a further notice is sent. A client that does
// not pull gets no more notices.
constexpr size_t kMaxNotices = 4;
// Maximum offset of a chunk. No output is this long, and sums with it do not overflow.
constexpr int64_t kMaxOffset = int64_t{1} << 62;

std::optional<int64_t> OffsetOf(v1::LogStream stream, const v1::LogReader& reader) {
  if (stream == v1::STDOUT && reader.has_stdout_offset()) return reader.stdout_offset();
  if (stream == v1::STDERR && reader.has_stderr_offset()) return reader.stderr_offset();
  return std::nullopt;
}

void SetOffset(v1::LogStream stream, std::optional<int64_t> offset, v1::LogReader* reader) {
  if (stream == v1::STDOUT) {
    offset ? reader->set_stdout_offset(*offset) : reader->clear_stdout_offset();
  } else if (stream == v1::STDERR) {
    offset ? reader->set_stderr_offset(*offset) : reader->clear_stderr_offset();
  }
}

// Moves the reader's offset to the end of the chunk. Returns false if the chunk contradicts the
// offset, or has impossible numbers.
bool Advance(const v1::LogChunk& chunk, v1::LogReader* reader) {
  if (chunk.stream() == v1::LOG_STREAM_UNSPECIFIED) return chunk.data().empty();
  if (chunk.offset() < OffsetOf(chunk.stream(), *reader).value_or(0)) return false;
  if (chunk.gap_bytes() < 0 || chunk.offset() > kMaxOffset) return false;
  const int64_t end = chunk.offset() + static_cast<int64_t>(chunk.data().size());
  SetOffset(chunk.stream(), std::max(chunk.next_offset(), end), reader);
  return true;
}

}  // namespace

void LogPipe::Expect(const std::vector<v1::LogReader>& relays) {
  absl::MutexLock lock(&mutex_);
  expecting_ = true;
  for (const v1::LogReader& relay : relays) relays_[relay.reader_id()] = {relay};
}

std::optional<v1::LogReader> LogPipe::Resume(const std::string& reader_id,
                                             const std::string& new_id) {
  std::deque<Entry> dropped;
  std::optional<v1::LogReader> reader;
  {
    absl::MutexLock lock(&mutex_);
    auto relay = relays_.extract(reader_id);
    if (end_.has_value() || relay.empty()) return std::nullopt;
    // A relay pushes its next chunk only when the client has pulled the last one, so at most one
    // chunk is unread.
    const auto unread = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
      return entry.chunk.reader_id() == reader_id && entry.chunk.notice().empty();
    });
    if (unread != entries_.end()) {
      SetOffset(unread->chunk.stream(), unread->before, &relay.mapped().reader);
      dropped.push_back(std::move(*unread));
      entries_.erase(unread);
    }
    relay.key() = new_id;
    relay.mapped().open = false;
    relay.mapped().reader.set_reader_id(new_id);
    reader = relays_.insert(std::move(relay)).position->second.reader;
  }
  for (Entry& entry : dropped) entry.taken(false);
  return reader;
}

void LogPipe::Fail(absl::Status status) {
  std::deque<Entry> dropped;
  Ready ready;
  {
    absl::MutexLock lock(&mutex_);
    if (end_.has_value()) return;
    end_ = status;
    dropped.swap(entries_);
    ready = std::exchange(waiting_, nullptr);
  }
  for (Entry& entry : dropped) {
    if (entry.taken) entry.taken(false);
  }
  if (ready) ready(std::nullopt, std::move(status));
}

void LogPipe::Deliver(Ready ready, Entry entry) {
  ready(std::move(entry.chunk), absl::OkStatus());
  if (entry.taken) entry.taken(true);
}

void LogPipe::Pull(Ready ready) {
  Entry entry;
  absl::Status end;
  bool delivers = false;
  {
    absl::MutexLock lock(&mutex_);
    if (!entries_.empty()) {
      entry = std::move(entries_.front());
      entries_.pop_front();
      delivers = true;
    } else if (!Over()) {
      waiting_ = std::move(ready);
      return;
    } else if (end_.has_value()) {
      end = *end_;
    }
  }
  if (delivers) return Deliver(std::move(ready), std::move(entry));
  ready(std::nullopt, std::move(end));
}

bool LogPipe::Open(const std::string& reader_id) {
  absl::MutexLock lock(&mutex_);
  const auto relay = relays_.find(reader_id);
  if (end_.has_value() || relay == relays_.end()) return false;
  return !std::exchange(relay->second.open, true);
}

void LogPipe::Send(Entry entry, bool must_be_open) {
  Ready ready;
  {
    absl::MutexLock lock(&mutex_);
    const auto relay = relays_.find(entry.chunk.reader_id());
    if (!end_.has_value() && relay != relays_.end() && (relay->second.open || !must_be_open)) {
      v1::LogReader& reader = relay->second.reader;
      entry.before = OffsetOf(entry.chunk.stream(), reader);
      if (Advance(entry.chunk, &reader)) {
        entry.chunk.set_generation(reader.generation());
        entry.chunk.set_rank(reader.rank());
        if (entry.chunk.end()) relays_.erase(relay);
        if (!waiting_) {
          entries_.push_back(std::move(entry));
          return;
        }
        ready = std::exchange(waiting_, nullptr);
      }
    }
  }
  if (ready) return Deliver(std::move(ready), std::move(entry));
  if (entry.taken) entry.taken(false);
}

void LogPipe::Push(v1::LogChunk chunk, Taken taken) {
  Send({std::move(chunk), std::move(taken), std::nullopt}, /*must_be_open=*/true);
}

void LogPipe::Notify(const std::string& reader_id, const std::string& notice) {
  {
    absl::MutexLock lock(&mutex_);
    if (entries_.size() > kMaxNotices * relays_.size()) return;
  }
  v1::LogChunk chunk;
  chunk.set_reader_id(reader_id);
  chunk.set_notice(notice);
  Send({std::move(chunk), nullptr, std::nullopt}, /*must_be_open=*/false);
}

void LogPipe::Close(const std::string& reader_id, const std::string& why) {
  v1::LogChunk last;
  last.set_reader_id(reader_id);
  last.set_end(true);
  last.set_error(why);
  Send({std::move(last), nullptr, std::nullopt}, /*must_be_open=*/false);
}

}  // namespace accel::coordinator
