// Decides which connections reset streams so fast that they must be cut (rapid reset). gRPC 1.51
// never shows such streams to a handler, and spends memory and CPU on each (docs/decisions/0051).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace accel::coordinator {

// The streams of one connection since its start.
struct StreamCounts {
  int64_t connection = 0;  // A number that is never reused.
  int64_t started = 0;
  int64_t succeeded = 0;
};

// Not thread-safe.
class ResetJudge {
 public:
  // Maximum number of streams that a connection may start between two looks without completing
  // them. An agent starts at most 256 at the same time, for relays.
  static constexpr int64_t kMaxUnfinished = 500;

  // Takes the counts of all connections, and returns those that started too many streams since the
  // look before. A connection that did not exist before started with none. The first look, and the
  // first one after Skip(), only takes the counts.
  std::vector<int64_t> Look(absl::Span<const StreamCounts> counts);
  // A look was left out, because there were few calls. Later counts cannot be compared with older
  // ones, because an agent may fail any number of relays in a day.
  void Skip() { unfinished_.reset(); }

 private:
  std::optional<std::map<int64_t, int64_t>> unfinished_;  // By connection, at the last look.
};

}  // namespace accel::coordinator
