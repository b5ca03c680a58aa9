// The requests of a TCPStore. store_waits.cc has the waits.
//
// Details that follow from PyTorch's protocol, which this store answers like PyTorch's own server,
// with a few differences (docs/decisions/0005):
// - A connection has at most one wait. A new wait replaces it.
// - There is no clock. The client measures its timeout and then sends kCancelWait, which may cross
//   the wake-up on the way. kCancelWait is therefore answered even if the client has no wait.
// - A queue with elements is a ready key. A push ends the wait of one client only, because only one
//   client can pop the element. Earlier waits that also need other keys count down.
// - `compare_set` does not distinguish a missing key from an empty value.
//
// Memory is charged to a budget before it is allocated (invariant 8), with an estimate of the
// containers' own memory. Otherwise many tiny keys would exceed the limit unnoticed. A request that
// does not fit fails, and its connection is closed. An entry exists only while it has a value, a
// queue or a waiting client.

#include "rendezvous/core/store_state.h"

#include <charconv>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/printable.h"
#include "common/status_macros.h"
#include "rendezvous/core/decimal.h"
#include "rendezvous/core/reply_writer.h"
#include "rendezvous/core/store_entry.h"

namespace accel::rendezvous {
namespace {

// Estimated memory for a queue, its elements and malloc's own data. It is charged in addition to
// the bytes of the elements.
constexpr size_t kQueueOverhead = 640;
constexpr size_t kQueueElementOverhead = 48;

absl::Status Full() { return absl::ResourceExhaustedError("the store is full"); }
absl::Status OkUnlessFull(bool fits) { return fits ? absl::OkStatus() : Full(); }

}  // namespace

absl::Status StoreState::Apply(ConnectionId connection, const Request& request, ByteBuffer* reply,
                               std::vector<ConnectionId>* woken) {
  const auto number = [reply](int64_t n) { return OkUnlessFull(AppendNumber(n, reply)); };
  const auto byte = [reply](auto b) { return OkUnlessFull(AppendNumber(b, reply)); };
  switch (request.type) {
    case QueryType::kSet:
      return Set(request.key, request.value, woken);
    case QueryType::kCompareSet:
      return CompareSet(request, reply, woken);
    case QueryType::kGet:
      return Get(request.key, reply);
    case QueryType::kAdd:
      return Add(request.key, request.number, reply, woken);
    case QueryType::kCheck:
      return byte(table_.AllReady(request.list) ? CheckResponse::kReady : CheckResponse::kNotReady);
    case QueryType::kWait:
      waits_.Cancel(connection);  // A connection has at most one wait.
      if (table_.AllReady(request.list)) return byte(WaitResponse::kStopWaiting);
      return OkUnlessFull(waits_.Begin(connection, request.list));
    case QueryType::kCancelWait:
      waits_.Cancel(connection);
      return byte(WaitResponse::kWaitCanceled);
    case QueryType::kNumKeys:
      return number(static_cast<int64_t>(num_keys_));
    case QueryType::kDeleteKey:
      return number(DeleteKey(request.key));
    case QueryType::kAppend:
      return Append(request.key, request.value, woken);
    case QueryType::kMultiGet:
      return MultiGet(request.list, reply);
    case QueryType::kMultiSet:
      return MultiSet(request.list, woken);
    case QueryType::kQueuePush:
      return QueuePush(request.key, request.value, woken);
    case QueryType::kQueuePop:
      return QueuePop(request.key, reply);
    case QueryType::kQueueLen:
      return number(QueueLength(request.key));
    case QueryType::kListKeys:
      return ListKeys(reply);
    case QueryType::kValidate:
    case QueryType::kPing:
      break;
  }
  ACCEL_CHECK(false, "the session answers validate and ping itself");
}

absl::Status StoreState::Set(absl::string_view key, absl::string_view value,
                             std::vector<ConnectionId>* woken) {
  StoreEntry* entry = table_.FindOrInsert(key);
  if (entry == nullptr) return Full();
  if (!entry->value.Assign(value)) {
    table_.EraseIfUnused(entry);
    return Full();
  }
  num_keys_ += !std::exchange(entry->has_value, true);
  waits_.WakeAll(entry, woken);
  return absl::OkStatus();
}

absl::Status StoreState::MultiSet(EncodedStrings pairs, std::vector<ConnectionId>* woken) {
  while (!pairs.done()) {
    const absl::string_view key = pairs.Next();
    ACCEL_RETURN_IF_ERROR(Set(key, pairs.Next(), woken));
  }
  return absl::OkStatus();
}

absl::Status StoreState::Append(absl::string_view key, absl::string_view value,
                                std::vector<ConnectionId>* woken) {
  StoreEntry* entry = table_.FindOrInsert(key);
  if (entry == nullptr) return Full();
  if (!entry->value.Append(value)) {
    table_.EraseIfUnused(entry);
    return Full();
  }
  num_keys_ += !std::exchange(entry->has_value, true);
  waits_.WakeAll(entry, woken);
  return absl::OkStatus();
}

absl::Status StoreState::CompareSet(const Request& request, ByteBuffer* reply,
                                    std::vector<ConnectionId>* woken) {
  StoreEntry* entry = table_.Find(request.key);
  if (entry == nullptr || !entry->has_value) {
    // A missing key counts as an empty value. If the client expected another value, the protocol
    // answers with the expected value, although that value is not stored.
    if (!request.value.empty()) return OkUnlessFull(AppendString(request.value, reply));
    ACCEL_RETURN_IF_ERROR(Set(request.key, request.desired, woken));
    return OkUnlessFull(AppendString(request.desired, reply));
  }
  ByteBuffer& value = entry->value;
  if (value.view() == request.value && !value.Assign(request.desired)) return Full();
  return OkUnlessFull(AppendString(value.view(), reply));
}

absl::Status StoreState::Add(absl::string_view key, int64_t delta, ByteBuffer* reply,
                             std::vector<ConnectionId>* woken) {
  uint64_t sum = static_cast<uint64_t>(delta);  // Unsigned, so that overflow wraps.
  const StoreEntry* entry = table_.Find(key);
  if (entry != nullptr && entry->has_value) {
    const std::optional<int64_t> old = ParseLeadingInt64(entry->value.view());
    if (!old.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "add to ", common::Shortened(common::Printable(key), 128), ", which is not a number"));
    }
    sum += static_cast<uint64_t>(*old);
  }
  const int64_t result = static_cast<int64_t>(sum);
  char digits[24];
  const char* end = std::to_chars(digits, digits + sizeof(digits), result).ptr;
  ACCEL_RETURN_IF_ERROR(Set(key, absl::string_view(digits, end - digits), woken));
  return OkUnlessFull(AppendNumber(result, reply));
}

absl::Status StoreState::Get(absl::string_view key, ByteBuffer* reply) const {
  const StoreEntry* entry = table_.Find(key);
  const bool found = entry != nullptr && entry->has_value;
  return OkUnlessFull(AppendString(found ? entry->value.view() : absl::string_view(), reply));
}

absl::Status StoreState::MultiGet(EncodedStrings keys, ByteBuffer* reply) const {
  while (!keys.done()) ACCEL_RETURN_IF_ERROR(Get(keys.Next(), reply));
  return absl::OkStatus();
}

absl::Status StoreState::ListKeys(ByteBuffer* reply) const {
  if (!AppendNumber(static_cast<int64_t>(num_keys_), reply)) return Full();
  for (const auto& [key, entry] : table_) {
    if (entry.has_value && !AppendString(key, reply)) return Full();
  }
  return absl::OkStatus();
}

int64_t StoreState::DeleteKey(absl::string_view key) {
  StoreEntry* entry = table_.Find(key);
  if (entry == nullptr || !entry->has_value) return 0;
  entry->value.Free();
  entry->has_value = false;
  --num_keys_;
  table_.EraseIfUnused(entry);
  return 1;
}

absl::Status StoreState::QueuePush(absl::string_view key, absl::string_view value,
                                   std::vector<ConnectionId>* woken) {
  StoreEntry* entry = table_.FindOrInsert(key);
  if (entry == nullptr) return Full();
  ByteBuffer element(budget_);
  const size_t overhead = kQueueElementOverhead + (entry->queue == nullptr ? kQueueOverhead : 0);
  if (!element.Append(value) || !budget_->TryCharge(overhead)) {
    table_.EraseIfUnused(entry);
    return Full();
  }
  if (entry->queue == nullptr) entry->queue = std::make_unique<StoreEntry::Queue>();
  entry->queue->push_back(std::move(element));
  waits_.WakeOne(entry, woken);
  return absl::OkStatus();
}

absl::Status StoreState::QueuePop(absl::string_view key, ByteBuffer* reply) {
  StoreEntry* entry = table_.Find(key);
  if (entry == nullptr || entry->queue == nullptr) {
    return OkUnlessFull(AppendNumber<int64_t>(0, reply));
  }
  StoreEntry::Queue& queue = *entry->queue;
  if (!AppendNumber(static_cast<int64_t>(queue.size()), reply) ||
      !AppendString(queue.front().view(), reply)) {
    return Full();
  }
  queue.pop_front();
  budget_->Release(kQueueElementOverhead);
  if (queue.empty()) {
    entry->queue.reset();
    budget_->Release(kQueueOverhead);
    table_.EraseIfUnused(entry);
  }
  return absl::OkStatus();
}

int64_t StoreState::QueueLength(absl::string_view key) const {
  const StoreEntry* entry = table_.Find(key);
  if (entry == nullptr || entry->queue == nullptr) return 0;
  return static_cast<int64_t>(entry->queue->size());
}

}  // namespace accel::rendezvous
