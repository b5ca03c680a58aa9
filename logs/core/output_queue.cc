#include "logs/core/output_queue.h"

#include <utility>

namespace accel::logs {

int OutputQueue::Open() {
  streams_[next_stream_];
  return next_stream_++;
}

void OutputQueue::TakeTurn(int id, Stream* stream) {
  if (!std::exchange(stream->in_turn, true)) turns_.push_back(id);
}

void OutputQueue::Add(int id, absl::string_view bytes) {
  Stream& stream = streams_.at(id);
  if (stream.waiting.dropped > 0) return Drop(id, static_cast<int64_t>(bytes.size()));
  if (stream.waiting.bytes.empty()) stream.waiting.bytes = std::exchange(spare_, {});
  stream.waiting.bytes.append(bytes.data(), bytes.size());
  stream.received += static_cast<int64_t>(bytes.size());
  bytes_ += bytes.size();
  TakeTurn(id, &stream);
}

void OutputQueue::Drop(int id, int64_t size) {
  Stream& stream = streams_.at(id);
  stream.waiting.dropped += size;
  stream.received += size;
  TakeTurn(id, &stream);
}

void OutputQueue::Close(int id) {
  Stream& stream = streams_.at(id);
  stream.waiting.last = true;
  TakeTurn(id, &stream);
}

std::optional<OutputQueue::Batch> OutputQueue::Take() {
  if (turns_.empty()) return std::nullopt;
  const int id = turns_.front();
  turns_.pop_front();
  Stream& stream = streams_.at(id);
  stream.in_turn = false;
  Batch batch = std::exchange(stream.waiting, {});
  batch.stream = id;
  return batch;
}

void OutputQueue::Done(Batch batch) {
  bytes_ -= batch.bytes.size();
  streams_.at(batch.stream).handled += static_cast<int64_t>(batch.bytes.size()) + batch.dropped;
  if (batch.last) streams_.erase(batch.stream);
  spare_ = std::move(batch.bytes);
  spare_.clear();
}

int64_t OutputQueue::received(int id) const {
  const auto found = streams_.find(id);
  return found == streams_.end() ? 0 : found->second.received;
}

bool OutputQueue::Handled(int id, int64_t size) const {
  const auto found = streams_.find(id);
  return found == streams_.end() || found->second.handled >= size;
}

}  // namespace accel::logs
