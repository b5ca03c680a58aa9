#include "cli/machines/machine.h"

#include <utility>

#include "agent/identity.h"
#include "agent/probe/inventory.h"
#include "cli/follow_launch.h"
#include "cli/machines/core/gathering.h"
#include "cli/machines/core/terms.h"
#include "cli/render/end_message.h"
#include "common/status_macros.h"
#include "common/version.h"

namespace accel::cli {

v1::RunMachine DescribeMachine(const MachinesLaunch& launch, const Part& part) {
  v1::RunMachine machine;
  machine.set_host(agent::HostName().substr(0, kMaxRunTextBytes));
  machine.set_address(part.address);
  machine.set_version(common::kVersion);
  if (launch.place.machine_rank.has_value()) machine.set_machine_rank(*launch.place.machine_rank);
  for (v1::RunTerm& term : TermsOf(launch.words, launch.plan, launch.counts_itself)) {
    *machine.add_terms() = std::move(term);
  }
  if (launch.counts_itself) machine.set_processes(launch.plan.processes.front());
  return machine;
}

absl::StatusOr<v1::NodeObserved> MachineIdentity(const std::string& node_id,
                                                 const std::string& node_name, int placement_order,
                                                 const std::string& address, bool with_gpus) {
  ACCEL_ASSIGN_OR_RETURN(v1::Inventory inventory, agent::ProbeInventory(with_gpus));
  ACCEL_ASSIGN_OR_RETURN(
      v1::NodeObserved identity,
      agent::MakeIdentity(common::NodeId(node_id), node_name, address, std::move(inventory)));
  identity.set_placement_order(placement_order);
  return identity;
}

absl::StatusOr<int> FollowOnMachine(LaunchedJob* job, const std::string& job_id,
                                    const std::string& node_id, const MachinesLaunch& launch,
                                    const Workplace& workplace, const Console& console,
                                    const std::function<void()>& on_end) {
  const std::string output = workplace.OutputOf(launch.spec.log_dir(), job_id);
  ACCEL_RETURN_IF_ERROR(workplace.Note(output));
  FollowLaunch follow(job, {output, RelayOptions(launch.plan, workplace.SpillOf(job_id)), node_id},
                      workplace.signals.get(), console);
  ACCEL_ASSIGN_OR_RETURN(const coordinator::JobPtr ended, follow.Wait());
  on_end();
  UnblockStopSignals();
  follow.DrainOutput(*ended);
  if (ended->phase() == v1::FAILED) PrintMessage(console, EndMessage(*ended));
  return follow.ExitCode(*ended);
}

}  // namespace accel::cli
