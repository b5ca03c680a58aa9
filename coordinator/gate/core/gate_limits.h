// The bounds on connections.
#pragma once

#include "absl/time/time.h"

namespace accel::coordinator {

struct GateLimits {
  int open = 12'000;  // Those that gRPC has.
  // Silent and parked ones. Strangers who are closed come back at once, and then fill the kernel's
  // queue, in which everyone waits. So it is better to have room for them until their time is over.
  int waiting = 24'000;
  int per_source = 4096;  // In all states.
  // Connections that gRPC has and that have not yet made a valid call. Strangers are sources from
  // which no valid call has come. The two kinds have separate places, so that strangers cannot keep
  // out the nodes of the cluster.
  int pending_strangers = 64;
  int pending_known = 64;
  int pending_per_source = 16;
  int enrolling = 8;
  int known_sources = 4096;                        // The latest ones are remembered.
  absl::Duration first_record = absl::Seconds(5);  // From accept() to a whole first record.
  // An honest client sends its first record within this time, even if a packet is lost.
  absl::Duration round_trip = absl::Seconds(1);
  absl::Duration parked = absl::Seconds(30);     // In the queue.
  absl::Duration first_call = absl::Seconds(5);  // From the queue to a valid call.
  absl::Duration enrolment = absl::Seconds(3);
};

}  // namespace accel::coordinator
