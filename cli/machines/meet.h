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

// The part of this machine in a launch.
struct Part {
  // The sockets on which this machine serves. nullopt if another machine serves.
  std::optional<coordinator::Listener> listener;
  // Why this machine does not serve, as a clause: "it has machine_rank 1". Empty if it serves.
  std::string why_not;
  // The addresses at which the serving machine may listen, as numeric HOST:PORT. Never empty.
  std::vector<std::string> serves;
  std::string address;  // The numeric address by which the other machines reach this machine.
};

// Decides the part of this machine. A machine with machine rank 0 serves, and a machine with
// another machine rank does not. Without a machine rank, a machine serves if it can listen
// at the place.
//
// If the place is a name with several addresses, and there is no machine rank, only the first of
// them counts, because two machines may share the name. IPv4 comes before IPv6, and lower addresses
// before higher ones. A name that means only this machine (127.0.1.1 in /etc/hosts, as in Debian)
// stands for all its addresses.
//
// UNAVAILABLE: the name does not resolve, or there is no route. Both may change later.
// FAILED_PRECONDITION: machine rank 0 cannot listen at the place. Other errors are
// those of agent/core/advertise.h.
absl::StatusOr<Part> Meet(const MeetingPlace& place);

}  // namespace accel::cli
