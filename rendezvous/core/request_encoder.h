// Encodes queries as a client does, for tests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "rendezvous/core/wire.h"

namespace accel::rendezvous::testing {

template <typename T>
std::string Raw(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}
inline std::string Encoded(absl::string_view text) {
  return Raw<uint64_t>(text.size()) + std::string(text);
}

inline std::string Validate(uint32_t magic = kValidationMagic) {
  return Raw(QueryType::kValidate) + Raw(magic);
}
inline std::string Ping(uint32_t nonce) { return Raw(QueryType::kPing) + Raw(nonce); }

// The queries without an argument: kNumKeys, kCancelWait, kListKeys.
inline std::string Query(QueryType type) { return Raw(type); }
// The queries with a key: kGet, kDeleteKey, kQueuePop, kQueueLen.
inline std::string Query(QueryType type, absl::string_view key) { return Raw(type) + Encoded(key); }
// The queries with a key and a value: kSet, kAppend, kQueuePush.
inline std::string Query(QueryType type, absl::string_view key, absl::string_view value) {
  return Query(type, key) + Encoded(value);
}
// The queries with a list of keys: kCheck, kWait, kMultiGet.
inline std::string KeysQuery(QueryType type, const std::vector<std::string>& keys) {
  std::string bytes = Raw(type) + Raw<uint64_t>(keys.size());
  for (const std::string& key : keys) bytes += Encoded(key);
  return bytes;
}

inline std::string Set(absl::string_view key, absl::string_view value) {
  return Query(QueryType::kSet, key, value);
}
inline std::string Get(absl::string_view key) { return Query(QueryType::kGet, key); }
inline std::string Add(absl::string_view key, int64_t delta) {
  return Query(QueryType::kAdd, key) + Raw(delta);
}
inline std::string CompareSet(absl::string_view key, absl::string_view expected,
                              absl::string_view desired) {
  return Query(QueryType::kCompareSet, key, expected) + Encoded(desired);
}
inline std::string Wait(const std::vector<std::string>& keys) {
  return KeysQuery(QueryType::kWait, keys);
}
inline std::string MultiSet(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string bytes = Raw(QueryType::kMultiSet) + Raw<uint64_t>(pairs.size());
  for (const auto& [key, value] : pairs) bytes += Encoded(key) + Encoded(value);
  return bytes;
}

// Returns one well-formed query of every type that may follow validation.
inline std::vector<std::string> OneOfEach() {
  return {Set("key", "value"),
          CompareSet("key", "value", "other"),
          Get("key"),
          Add("counter", 3),
          KeysQuery(QueryType::kCheck, {"key", "missing"}),
          Wait({"key", "counter"}),
          Query(QueryType::kNumKeys),
          Query(QueryType::kDeleteKey, "missing"),
          Query(QueryType::kAppend, "log", "line"),
          KeysQuery(QueryType::kMultiGet, {"key", "log"}),
          MultiSet({{"a", "1"}, {"b", ""}}),
          Query(QueryType::kCancelWait),
          Ping(7),
          Query(QueryType::kQueuePush, "queue", "element"),
          Query(QueryType::kQueuePop, "queue"),
          Query(QueryType::kQueueLen, "queue"),
          Query(QueryType::kListKeys)};
}

}  // namespace accel::rendezvous::testing
