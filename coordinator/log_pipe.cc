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
  OnPulled on_pulled;
  {
    absl::MutexLock lock(&mutex_);
    if (end_.has_value()) return;
    end_ = status;
    dropped.swap(entries_);
    on_pulled = std::exchange(waiting_, nullptr);
  }
  for (Entry& entry : dropped) {
    if (entry.on_pushed) entry.on_pushed(false);
  }
  if (on_pulled) on_pulled(std::nullopt, std::move(status));
}

void LogPipe::Deliver(OnPulled on_pulled, Entry entry) {
  on_pulled(std::move(entry.chunk), absl::OkStatus());
  if (entry.on_pushed) entry.on_pushed(true);
}

void LogPipe::Pull(OnPulled on_pulled) {
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
      waiting_ = std::move(on_pulled);
      return;
    } else if (end_.has_value()) {
      end = *end_;
    }
  }
  if (delivers) return Deliver(std::move(on_pulled), std::move(entry));
  on_pulled(std::nullopt, std::move(end));
}

bool LogPipe::Open(const std::string& reader_id) {
  absl::MutexLock lock(&mutex_);
  if (end_.has_value()) return false;
  auto relay = unopened_.extract(reader_id);
  if (relay.empty()) return false;
  open_.insert(std::move(relay));
  return true;
}

void LogPipe::Push(v1::LogChunk chunk, OnPushed on_pushed) {
  OnPulled on_pulled;
  {
    absl::MutexLock lock(&mutex_);
    const auto relay = open_.find(chunk.reader_id());
    if (!end_.has_value() && relay != open_.end()) {
      chunk.set_generation(relay->second.generation());
      chunk.set_rank(relay->second.rank());
      if (chunk.end()) open_.erase(relay);
      if (!waiting_) {
        entries_.push_back({std::move(chunk), std::move(on_pushed)});
        return;
      }
      on_pulled = std::exchange(waiting_, nullptr);
    }
  }
  if (!on_pulled) return on_pushed(false);
  Deliver(std::move(on_pulled), {std::move(chunk), std::move(on_pushed)});
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
