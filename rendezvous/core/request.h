// One decoded query. Its views point into the bytes that were parsed.
#pragma once

#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"
#include "rendezvous/core/wire.h"

namespace accel::rendezvous {

// Iterates over encoded strings. The parser has already checked that all of them are complete.
class EncodedStrings {
 public:
  EncodedStrings() = default;
  explicit EncodedStrings(absl::string_view encoded) : rest_(encoded) {}

  bool done() const { return rest_.empty(); }
  absl::string_view Next() {
    uint64_t length;
    std::memcpy(&length, rest_.data(), sizeof(length));
    const absl::string_view result = rest_.substr(sizeof(length), length);
    rest_.remove_prefix(sizeof(length) + length);
    return result;
  }

 private:
  absl::string_view rest_;
};

struct Request {
  QueryType type = QueryType::kPing;
  int64_t number = 0;     // kValidate: the magic number. kPing: the nonce. kAdd: the summand.
  absl::string_view key;  // Set for every query about one key or queue.
  // kSet, kAppend, kQueuePush: the value. kCompareSet: the expected value.
  absl::string_view value;
  absl::string_view desired;  // kCompareSet: the value to store.
  // kCheck, kWait, kMultiGet: keys. kMultiSet: keys and values, alternating.
  EncodedStrings list;
  uint64_t list_length = 0;  // Number of keys in `list`.
};

}  // namespace accel::rendezvous
