// The contents of a TCPStore, and how clients that wait for keys are woken.
//
// The problem: ranks meet by waiting for keys that other ranks set. In a barrier of a thousand
// ranks, each rank does an `add` to a counter. Then it waits for a key, which the last rank sets.
// The obvious approach keeps a list of waiting clients. After each change it checks the keys of all
// of them. Each of the thousand `add`s is a change and causes a check of all ranks that already
// wait. The cost is quadratic in the number of ranks.
//
// The approach: a wait is linked to exactly the keys that are missing. It has one node for each of
// these keys, and the entry of the key has a list of its nodes. When a key becomes ready, its nodes
// are unlinked and the waits of these nodes count down. A wait that reaches zero is over. Setting a
// key therefore costs only the waits for that key, and cancelling a wait only its keys.
//
// clang-format off
//   entries_                                   waits_
//   "a"  value "1"
//   "b"  waits ──▶ node ──────▶ node           connection 1: {b}     keys_left 1
//                   │            │             connection 2: {b, c}  keys_left 2
//              connection 1  connection 2
//   "c"  waits ──▶ node
//                   │
//              connection 2
//
//   set b     connection 1 is woken; connection 2 has keys_left 1
//   delete b  changes nothing for connection 2: a key counts once it has been ready
//   set c     connection 2 is woken
// clang-format on
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
// queue or a waiting client. Entries and nodes are linked by address, so they never move.

#include "rendezvous/core/store_state.h"

#include <charconv>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/printable.h"
#include "common/status_macros.h"
#include "rendezvous/core/decimal.h"
#include "rendezvous/core/reply_writer.h"

namespace accel::rendezvous {
namespace {

// Estimated memory for slots of hash tables, nodes and malloc's own data. It is charged in addition
// to the bytes of keys and values.
constexpr size_t kEntryOverhead = 192;
constexpr size_t kQueueOverhead = 640;
constexpr size_t kQueueElementOverhead = 48;
constexpr size_t kWaitOverhead = 160;
constexpr size_t kWaitNodeOverhead = sizeof(WaitNode);

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
      return byte(AllReady(request.list) ? CheckResponse::kReady : CheckResponse::kNotReady);
    case QueryType::kWait:
      CancelWait(connection);  // A connection has at most one wait.
      if (AllReady(request.list)) return byte(WaitResponse::kStopWaiting);
      return BeginWait(connection, request.list);
    case QueryType::kCancelWait:
      CancelWait(connection);
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
  StoreEntry* entry = FindOrInsert(key);
  if (entry == nullptr) return Full();
  if (!entry->value.Assign(value)) {
    EraseIfUnused(entry);
    return Full();
  }
  num_keys_ += !std::exchange(entry->has_value, true);
  WakeAll(entry, woken);
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
  StoreEntry* entry = FindOrInsert(key);
  if (entry == nullptr) return Full();
  if (!entry->value.Append(value)) {
    EraseIfUnused(entry);
    return Full();
  }
  num_keys_ += !std::exchange(entry->has_value, true);
  WakeAll(entry, woken);
  return absl::OkStatus();
}

absl::Status StoreState::CompareSet(const Request& request, ByteBuffer* reply,
                                    std::vector<ConnectionId>* woken) {
  const auto it = entries_.find(request.key);
  if (it == entries_.end() || !it->second.has_value) {
    // A missing key counts as an empty value. If the client expected another value, the protocol
    // answers with the expected value, although that value is not stored.
    if (!request.value.empty()) return OkUnlessFull(AppendString(request.value, reply));
    ACCEL_RETURN_IF_ERROR(Set(request.key, request.desired, woken));
    return OkUnlessFull(AppendString(request.desired, reply));
  }
  ByteBuffer& value = it->second.value;
  if (value.view() == request.value && !value.Assign(request.desired)) return Full();
  return OkUnlessFull(AppendString(value.view(), reply));
}

absl::Status StoreState::Add(absl::string_view key, int64_t delta, ByteBuffer* reply,
                             std::vector<ConnectionId>* woken) {
  uint64_t sum = static_cast<uint64_t>(delta);  // Unsigned, so that overflow wraps.
  const auto it = entries_.find(key);
  if (it != entries_.end() && it->second.has_value) {
    const std::optional<int64_t> old = ParseLeadingInt64(it->second.value.view());
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
  const auto it = entries_.find(key);
  const bool found = it != entries_.end() && it->second.has_value;
  return OkUnlessFull(AppendString(found ? it->second.value.view() : absl::string_view(), reply));
}

absl::Status StoreState::MultiGet(EncodedStrings keys, ByteBuffer* reply) const {
  while (!keys.done()) ACCEL_RETURN_IF_ERROR(Get(keys.Next(), reply));
  return absl::OkStatus();
}

absl::Status StoreState::ListKeys(ByteBuffer* reply) const {
  if (!AppendNumber(static_cast<int64_t>(num_keys_), reply)) return Full();
  for (const auto& [key, entry] : entries_) {
    if (entry.has_value && !AppendString(key, reply)) return Full();
  }
  return absl::OkStatus();
}

int64_t StoreState::DeleteKey(absl::string_view key) {
  const auto it = entries_.find(key);
  if (it == entries_.end() || !it->second.has_value) return 0;
  it->second.value.Free();
  it->second.has_value = false;
  --num_keys_;
  EraseIfUnused(&it->second);
  return 1;
}

absl::Status StoreState::QueuePush(absl::string_view key, absl::string_view value,
                                   std::vector<ConnectionId>* woken) {
  StoreEntry* entry = FindOrInsert(key);
  if (entry == nullptr) return Full();
  ByteBuffer element(budget_);
  const size_t overhead = kQueueElementOverhead + (entry->queue == nullptr ? kQueueOverhead : 0);
  if (!element.Append(value) || !budget_->TryCharge(overhead)) {
    EraseIfUnused(entry);
    return Full();
  }
  if (entry->queue == nullptr) entry->queue = std::make_unique<StoreEntry::Queue>();
  entry->queue->push_back(std::move(element));
  WakeOne(entry, woken);
  return absl::OkStatus();
}

absl::Status StoreState::QueuePop(absl::string_view key, ByteBuffer* reply) {
  const auto it = entries_.find(key);
  if (it == entries_.end() || it->second.queue == nullptr) {
    return OkUnlessFull(AppendNumber<int64_t>(0, reply));
  }
  StoreEntry* entry = &it->second;
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
    EraseIfUnused(entry);
  }
  return absl::OkStatus();
}

int64_t StoreState::QueueLength(absl::string_view key) const {
  const auto it = entries_.find(key);
  if (it == entries_.end() || it->second.queue == nullptr) return 0;
  return static_cast<int64_t>(it->second.queue->size());
}

bool StoreState::AllReady(EncodedStrings keys) const {
  while (!keys.done()) {
    if (!Ready(keys.Next())) return false;
  }
  return true;
}

bool StoreState::Ready(absl::string_view key) const {
  const auto it = entries_.find(key);
  return it != entries_.end() && it->second.ready();
}

absl::Status StoreState::BeginWait(ConnectionId connection, EncodedStrings keys) {
  size_t missing = 0;
  for (EncodedStrings each = keys; !each.done();) missing += !Ready(each.Next());
  if (!budget_->TryCharge(kWaitOverhead + missing * kWaitNodeOverhead)) return Full();
  std::unique_ptr<Wait>& wait = waits_[connection];
  wait = std::make_unique<Wait>();
  wait->connection = connection;
  wait->nodes.resize(missing);
  for (WaitNode* node = wait->nodes.data(); !keys.done();) {
    const absl::string_view key = keys.Next();
    if (Ready(key)) continue;
    StoreEntry* entry = FindOrInsert(key);
    if (entry == nullptr) {
      CancelWait(connection);
      return Full();
    }
    node->wait = wait.get();
    node->entry = entry;
    entry->waits.PushBack(node++);
    ++wait->keys_left;
  }
  return absl::OkStatus();
}

void StoreState::CancelWait(ConnectionId connection) {
  const auto it = waits_.find(connection);
  if (it == waits_.end()) return;
  for (WaitNode& node : it->second->nodes) {
    StoreEntry* entry = node.entry;
    if (entry == nullptr) continue;
    entry->waits.Remove(&node);
    EraseIfUnused(entry);
  }
  EraseWait(connection);
}

void StoreState::WakeAll(StoreEntry* entry, std::vector<ConnectionId>* woken) {
  while (!entry->waits.empty()) Satisfy(entry, woken);
}

void StoreState::WakeOne(StoreEntry* entry, std::vector<ConnectionId>* woken) {
  while (!entry->waits.empty()) {
    if (Satisfy(entry, woken)) return;
  }
}

// Removes the first wait from the list of the entry, whose key is ready. Returns true if the wait
// needed no other key and is therefore over.
bool StoreState::Satisfy(StoreEntry* entry, std::vector<ConnectionId>* woken) {
  WaitNode* node = entry->waits.first();
  Wait* wait = node->wait;
  entry->waits.Remove(node);
  if (--wait->keys_left > 0) return false;
  woken->push_back(wait->connection);
  EraseWait(wait->connection);
  return true;
}

void StoreState::EraseWait(ConnectionId connection) {
  const auto it = waits_.find(connection);
  budget_->Release(kWaitOverhead + it->second->nodes.size() * kWaitNodeOverhead);
  waits_.erase(it);
}

StoreEntry* StoreState::FindOrInsert(absl::string_view key) {
  const auto found = entries_.find(key);
  if (found != entries_.end()) return &found->second;
  if (!budget_->TryCharge(key.size() + kEntryOverhead)) return nullptr;
  const auto it = entries_.try_emplace(std::string(key), budget_).first;
  it->second.key = &it->first;
  return &it->second;
}

void StoreState::EraseIfUnused(StoreEntry* entry) {
  if (!entry->unused()) return;
  budget_->Release(entry->key->size() + kEntryOverhead);
  entries_.erase(entries_.find(*entry->key));
}

}  // namespace accel::rendezvous
