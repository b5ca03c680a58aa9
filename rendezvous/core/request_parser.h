// Finds and decodes queries in a stream of bytes that arrives in pieces.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "rendezvous/core/request.h"

namespace accel::rendezvous {

// Limits on the sizes in a query. Each is checked as soon as a length has been read, before any
// byte of that length is buffered. Keys and lists have the limits of PyTorch's own server. Values
// may have 64 MiB instead of its 8 MiB, because programs store
// pickled objects (docs/decisions/0005).
struct WireLimits {
  size_t max_key_bytes = size_t{8} << 10;
  size_t max_value_bytes = size_t{64} << 20;
  size_t max_list_length = size_t{128} << 10;
  size_t max_request_bytes = size_t{160} << 20;
};

// Not thread-safe. The parser remembers how far it has parsed. Each byte is therefore read a
// bounded number of times, regardless of the pieces in which a query arrives.
class RequestParser {
 public:
  // `limits` must outlive the parser.
  explicit RequestParser(const WireLimits* limits) : limits_(limits) {}

  // Parses the query at the start of `bytes`. Returns 0 if the query is incomplete. The next call
  // must then have the same bytes, with more bytes appended, possibly at another address. Otherwise
  // decodes the query into `request`, returns its length, and is ready for the next query.
  // InvalidArgument: the bytes are not the protocol, or exceed a limit. The connection can then no
  // longer be used.
  absl::StatusOr<size_t> Parse(absl::string_view bytes, Request* request);

  // Returns the minimum size of `bytes` for the next Parse(). With fewer bytes, the query is known
  // to be incomplete.
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
  uint8_t strings_ = 0;  // Number of strings_at_ in use.
  bool in_list_ = false;
  size_t scanned_ = 0;  // Number of bytes of the query that have been parsed.
  size_t needed_ = 1;
  int64_t number_ = 0;
  uint64_t list_length_ = 0;
  uint64_t list_left_ = 0;  // Number of strings left: two for each pair.
  Span list_;
  Span strings_at_[3];
  uint64_t refused_ = 0;  // The length or count that exceeded a limit.
};

}  // namespace accel::rendezvous
