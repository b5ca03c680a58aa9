// Decides how long a link pauses between two sessions.
#pragma once

#include <cstdint>
#include <random>

#include "absl/time/time.h"
#include "common/backoff.h"

namespace accel::agent {

enum class SessionEnd {
  // The coordinator or the network failed. This may end without a person.
  kLost,
  // One side refused the other's certificate. A person must usually act.
  kRefused,
};

// Not thread-safe.
class SessionPauses {
 public:
  static constexpr absl::Duration kLongest = absl::Seconds(1);
  // The pauses after refusals are longer, because the handshakes of many refused nodes would keep
  // a coordinator busy.
  static constexpr absl::Duration kFirstRefused = absl::Seconds(1);
  static constexpr absl::Duration kLongestRefused = absl::Seconds(30);

  // Tests pass a fixed seed.
  explicit SessionPauses(uint32_t seed = std::random_device()())
      : lost_(absl::Milliseconds(50), kLongest, seed),
        refused_(kFirstRefused, kLongestRefused, seed) {}

  // Returns the pause after a session. If the coordinator sent anything in the session (`heard`),
  // the pauses start again with the shortest. After a first refusal the pause is short, because the
  // certificate may have been renewed during the session. A lost session between two refusals does
  // not shorten the second pause, because it says nothing about the certificate.
  absl::Duration Next(SessionEnd end, bool heard) {
    if (heard) {
      lost_.Reset();
      refused_.Reset();
    }
    return end == SessionEnd::kRefused ? refused_.Next() : lost_.Next();
  }

 private:
  common::Backoff lost_;
  common::Backoff refused_;
};

}  // namespace accel::agent
