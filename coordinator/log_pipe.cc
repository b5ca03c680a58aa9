#include "coordinator/log_pipe.h"

#include <utility>

namespace accel {

void LogPipe::Expect(std::vector<std::string> reader_ids) {
  absl::MutexLock lock(&mutex_);
  expecting_ = true;
  unopened_.insert(reader_ids.begin(), reader_ids.end());
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
  if (end_.has_value() || unopened_.erase(reader_id) == 0) return false;
  open_.insert(reader_id);
  return true;
}

void LogPipe::Push(v1::LogChunk chunk, Taken taken) {
  Ready ready;
  {
    absl::MutexLock lock(&mutex_);
    if (!end_.has_value() && open_.count(chunk.reader_id()) != 0) {
      if (chunk.end()) open_.erase(chunk.reader_id());
      if (!waiting_) {
        entries_.push_back({std::move(chunk), std::move(taken)});
        return;
      }
      ready = std::exchange(waiting_, nullptr);
    }
  }
  if (!ready) return taken(false);
  Deliver(std::move(ready), {std::move(chunk), std::move(taken)});
}

void LogPipe::Close(const std::string& reader_id, int rank, const std::string& why) {
  {
    absl::MutexLock lock(&mutex_);
    if (open_.count(reader_id) == 0 && unopened_.count(reader_id) == 0) return;
    unopened_.erase(reader_id);
    open_.insert(reader_id);
  }
  v1::LogChunk last;
  last.set_reader_id(reader_id);
  last.set_rank(rank);
  last.set_end(true);
  last.set_error(why);
  Push(std::move(last), [](bool) {});
}

}  // namespace accel
