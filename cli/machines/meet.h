// Decides whether this machine serves a launch over several machines, and at which addresses the
// machines reach each other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/config/core/meeting_place.h"
#include "coordinator/listener.h"

namespace accel::cli {

// How this machine takes part.
struct Part {
  // The sockets on which this machine serves. nullopt if another machine serves.
  std::optional<coordinator::Listener> listener;
  // Why this machine does not serve, as a clause: "it has machine_rank 1". Empty if it serves.
  std::string why_not;
  // HOST:PORT, numeric: where the machine that serves may listen. Never empty.
  std::vector<std::string> serves;
  std::string address;  // Numeric: how the other machines reach this one.
};

// The machine with machine rank 0 serves, and one with another machine rank does not. Without a
// machine rank, a machine serves if it can listen at the place. If the place is a name with several
// addresses, that is the first one (IPv4 before IPv6, lower before higher), because two machines
// may share the name. A name that means this machine only (127.0.1.1 in /etc/hosts, as Debian
// writes it) stands for all its addresses.
//
// UNAVAILABLE: the name does not resolve or there is no route, which may change later.
// FAILED_PRECONDITION: machine rank 0 cannot listen at the place. Other errors are those of
// agent/core/advertise.h.
absl::StatusOr<Part> Meet(const MeetingPlace& place);

}  // namespace accel::cli
