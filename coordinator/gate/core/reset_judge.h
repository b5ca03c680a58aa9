// Decides which connections reset streams so fast that they must be cut (rapid reset). gRPC 1.51
// never shows such streams to a handler, and spends memory and CPU on each (docs/decisions/0051).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"

namespace accel::coordinator {

// The streams of one connection since its start.
struct StreamCounts {
  int64_t connection = 0;  // A number that is never reused.
  int64_t started = 0;
  int64_t succeeded = 0;
};

// Each connection has an account: every stream that it starts and does not complete is a debt, and
// time pays kPaidPerSecond of them back. An agent that fails any number of relays in a day stays
// out of debt, and bursts with pauses between them do not. Not thread-safe.
class ResetJudge {
 public:
  // Maximum debt of a connection. An agent starts at most 256 streams at the same time, for relays.
  static constexpr int64_t kMaxDebt = 500;
  static constexpr int64_t kPaidPerSecond = 500;

  explicit ResetJudge(absl::Time start) : last_(start) {}

  // Takes the counts of all connections, and returns those with too large a debt. `now` must not be
  // before the `now` of the look before.
  std::vector<int64_t> Look(absl::Span<const StreamCounts> counts, absl::Time now);

 private:
  struct Account {
    int64_t unfinished = 0;  // At the last look.
    double debt = 0;
  };
  absl::Time last_;
  std::map<int64_t, Account> accounts_;  // By connection.
};

}  // namespace accel::coordinator
