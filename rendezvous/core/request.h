// One decoded query. Views point into the bytes that were parsed.
#pragma once

#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"
#include "rendezvous/core/wire.h"

namespace accel::rendezvous {

// Walks over encoded strings that the parser has already found whole.
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
  int64_t number = 0;         // kValidate: magic; kPing: nonce; kAdd: what to add.
  absl::string_view key;      // Of every query about one key or queue.
  absl::string_view value;    // kSet, kAppend, kQueuePush; kCompareSet: the expected value.
  absl::string_view desired;  // kCompareSet.
  // kCheck, kWait, kMultiGet: keys; kMultiSet: keys and values by turns.
  EncodedStrings list;
  uint64_t list_length = 0;  // Keys in `list`.
};

}  // namespace accel::rendezvous
