#include "coordinator/log_pipe.h"

#include <utility>

namespace accel::coordinator {

void LogPipe::Expect(const std::vector<v1::LogReader>& relays) {
  absl::MutexLock lock(&mutex_);
  expecting_ = true;
  for (const v1::LogReader& relay : relays) unopened_[relay.reader_id()] = relay;
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
  if (end_.has_value()) return false;
  auto relay = unopened_.extract(reader_id);
  if (relay.empty()) return false;
  open_.insert(std::move(relay));
  return true;
}

void LogPipe::Push(v1::LogChunk chunk, Taken taken) {
  Ready ready;
  {
    absl::MutexLock lock(&mutex_);
    const auto relay = open_.find(chunk.reader_id());
    if (!end_.has_value() && relay != open_.end()) {
      chunk.set_generation(relay->second.generation());
      chunk.set_rank(relay->second.rank());
      if (chunk.end()) open_.erase(relay);
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

void LogPipe::Close(const std::string& reader_id, const std::string& why) {
  {
    absl::MutexLock lock(&mutex_);
    auto unopened = unopened_.extract(reader_id);
    if (!unopened.empty()) open_.insert(std::move(unopened));
    if (open_.count(reader_id) == 0) return;
  }
  v1::LogChunk last;
  last.set_reader_id(reader_id);
  last.set_end(true);
  last.set_error(why);
  Push(std::move(last), [](bool) {});
}

}  // namespace accel::coordinator
