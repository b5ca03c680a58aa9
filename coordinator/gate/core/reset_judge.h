// Decides which connections must be cut because they reset streams too fast (rapid reset). gRPC
// 1.51 seldom shows such streams to a handler, and spends memory and CPU
// on each (docs/decisions/0051).
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

// Each connection has an account. Every stream that it starts and does not complete is a debt, and
// each second pays back kPaidPerSecond of them. An agent with many failed relays over a day
// therefore has no debt, while a large burst exceeds kMaxDebt. Not thread-safe.
class ResetJudge {
 public:
  // Maximum debt of a connection. An agent remains below, because it has at most common::kMaxRelays
  // relays at the same time, and few other streams.
  static constexpr int64_t kMaxDebt = 500;
  static constexpr int64_t kPaidPerSecond = 500;

  explicit ResetJudge(absl::Time start) : last_(start) {}

  // Updates the accounts with the counts of all connections, and returns the connections whose debt
  // is too large. `now` must not be before the `now` of the previous call.
  std::vector<int64_t> Look(absl::Span<const StreamCounts> counts, absl::Time now);

 private:
  struct Account {
    int64_t unfinished = 0;  // The number at the last look.
    double debt = 0;
  };
  absl::Time last_;
  std::map<int64_t, Account> accounts_;  // By connection.
};

}  // namespace accel::coordinator
