// How long a link pauses between two sessions.
#pragma once

#include <cstdint>
#include <random>

#include "absl/time/time.h"
#include "common/backoff.h"

namespace accel::agent {

enum class SessionEnd {
  kLost,     // The coordinator or the network went away, and comes back by itself.
  kRefused,  // A credential was refused, on either side. Nothing changes until a person acts.
};

// Not thread-safe.
class SessionPauses {
 public:
  static constexpr absl::Duration kLongest = absl::Seconds(1);
  // A cluster whose nodes were all refused must not be kept busy by their handshakes.
  static constexpr absl::Duration kFirstRefused = absl::Seconds(1);
  static constexpr absl::Duration kLongestRefused = absl::Seconds(30);

  // Tests give a seed.
  explicit SessionPauses(uint32_t seed = std::random_device()())
      : lost_(absl::Milliseconds(50), kLongest, seed),
        refused_(kFirstRefused, kLongestRefused, seed) {}

  // Returns the pause after a session. `heard` is true if the coordinator sent anything in it,
  // after which retries are fast again. The first retry after a refusal is fast too, because the
  // session may have used a certificate that was renewed meanwhile. A loss between two refusals
  // does not make it fast again, because it says nothing about the credential.
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
