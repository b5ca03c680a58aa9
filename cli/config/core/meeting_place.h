// The address at which the machines of a launch meet if they have no coordinator. It comes from the
// settings, or from the environment of Slurm and MPI. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/config/core/effective_settings.h"
#include "common/port_range.h"

namespace accel::cli {

struct MeetingPlace {
  std::string host;  // A name or a numeric address, as the user wrote it, without brackets.
  std::string port;
  int machines = 2;
  std::optional<int> machine_rank;  // nullopt if none is given.
  std::string id;                   // Distinguishes two launches that use the same address.
  bool trust_network = false;       // There is no secret: see docs/several-machines.md.
  absl::Duration timeout = absl::Minutes(10);  // Until all machines must be here.
  // See agent/core/advertise.h. If empty, the source address of the route.
  std::string advertise;
  common::PortRange ports;  // The ports for stores.

  // Returns "HOST:PORT", with brackets around an IPv6 address.
  std::string text() const;
};

// Returns a variable of the environment.
using EnvLookup = std::function<std::optional<std::string>(const std::string& name)>;

// Returns true if the settings or Slurm name an address at which machines can meet.
bool HasMeetingPlace(const EffectiveSettings& settings, const EnvLookup& env);

// Returns the place of a launch on `machines` machines. INVALID_ARGUMENT: a setting is wrong, or
// there is no address; the message begins with the place of the setting.
absl::StatusOr<MeetingPlace> FindMeetingPlace(const EffectiveSettings& settings,
                                              const EnvLookup& env, int machines);

// Checks --rdzv_endpoint. INVALID_ARGUMENT: it is given and is neither HOST:PORT nor HOST.
absl::Status CheckEndpoint(const EffectiveSettings& settings);

// Returns the number of nodes of the Slurm step (srun) that has started this process. Returns 1 if
// there is no step, or if this process is a worker of accel. INVALID_ARGUMENT: the step has
// several nodes and several tasks on a node. That is wrong, because accel itself starts all
// processes of a node.
absl::StatusOr<int> MachinesOfSlurm(const EnvLookup& env);

// Returns the first host of a list of Slurm, for example "n07" of "n[07-09,12],gpu1". Returns
// nullopt if `list` is not such a list.
std::optional<std::string> FirstSlurmHost(const std::string& list);

}  // namespace accel::cli
