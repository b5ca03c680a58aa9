// The bounds on connections.
#pragma once

#include "absl/time/time.h"

namespace accel::coordinator {

struct GateLimits {
  int open = 12'000;  // Connections that gRPC or the enrolment has.
  // Silent and parked connections. There is room for many, because a stranger whose connection is
  // closed connects again immediately. The new connection waits in the kernel's queue, which
  // all clients share.
  int waiting = 24'000;
  int per_source = 4096;  // Connections of one source, in all states.
  // Connections that gRPC has and that have not made a valid call yet. A stranger is a source from
  // which no valid call has come. Strangers and known sources have separate places, so that
  // strangers cannot keep out the nodes of the cluster.
  int pending_strangers = 64;
  int pending_known = 64;
  int pending_per_source = 16;
  int enrolling = 8;
  int known_sources = 4096;                        // The latest sources are remembered.
  absl::Duration first_record = absl::Seconds(5);  // From accept() to a full first record.
  // Time within which an honest client sends its first record, even if a packet is lost.
  absl::Duration round_trip = absl::Seconds(1);
  absl::Duration parked = absl::Seconds(30);     // Time in the queue.
  absl::Duration first_call = absl::Seconds(5);  // From the queue to a valid call.
  absl::Duration enrolment = absl::Seconds(3);
};

}  // namespace accel::coordinator
