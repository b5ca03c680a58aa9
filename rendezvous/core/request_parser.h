// Finds and decodes queries in a stream of bytes that arrives in pieces.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "rendezvous/core/request.h"

namespace accel::rendezvous {

// Checked as soon as a length is read, before anything of that length is buffered. Keys and lists
// have the limits of PyTorch's own server, values a higher one (its: 8 MiB).
struct WireLimits {
  size_t max_key_bytes = size_t{8} << 10;
  size_t max_value_bytes = size_t{64} << 20;
  size_t max_list_length = size_t{128} << 10;
  size_t max_request_bytes = size_t{160} << 20;
};

// Remembers how far it came: however a query is cut, each byte of it is looked at a bounded number
// of times. Not thread-safe.
class RequestParser {
 public:
  // `limits` outlives the parser.
  explicit RequestParser(const WireLimits* limits) : limits_(limits) {}

  // `bytes` starts where the current query starts, and from call to call only grows (it may move).
  // Returns the length of the query, then decoded in `request`, and is ready for the next one; or
  // 0 if it is not whole yet. InvalidArgument: not the protocol, or over a limit; the connection
  // is of no use then.
  absl::StatusOr<size_t> Parse(absl::string_view bytes, Request* request);

  // The query's bytes up to here are known to be missing: no use to call Parse with fewer.
  size_t needed() const { return needed_; }

 private:
  struct Span {
    size_t offset = 0;
    size_t length = 0;
  };
  enum class Step { kDone, kNeedMore, kInvalid };

  Step ParseField(absl::string_view bytes, uint8_t kind);
  Step ParseNumber(absl::string_view bytes, size_t width);
  Step ParseString(absl::string_view bytes, size_t limit, Span* span);
  Step ParseList(absl::string_view bytes, bool pairs);
  Step Need(size_t total);
  void Decode(absl::string_view bytes, Request* request);
  void Reset();
  absl::Status InvalidField() const;

  const WireLimits* limits_;
  uint8_t type_ = 0;
  uint8_t field_ = 0;    // Index into the type's layout.
  uint8_t strings_ = 0;  // Of strings_at_ in use.
  bool in_list_ = false;
  size_t scanned_ = 0;  // Bytes of the query that are understood.
  size_t needed_ = 1;
  int64_t number_ = 0;
  uint64_t list_length_ = 0;
  uint64_t list_left_ = 0;  // Strings, not pairs.
  Span list_;
  Span strings_at_[3];
  uint64_t refused_ = 0;  // The length or count that broke a limit.
};

}  // namespace accel::rendezvous
