#include "coordinator/rotate_flags.h"

#include "absl/status/status.h"
#include "common/daemon_command_line.h"

namespace accel::coordinator {
namespace {

constexpr char kProgram[] = "accel-coordinator rotate-ca";

constexpr char kAbout[] =
    "Replaces the authority that issues the certificates of a cluster. Without --finish it begins "
    "the rotation: new certificates and keys are of a new authority, and both authorities are "
    "trusted. Agents renew their certificates within a minute, and users with their next "
    "commands. With --finish it deletes the old authority. A coordinator may run, and follows "
    "within seconds.";

constexpr char kFooter[] =
    "Each step is done completely or not at all. A command that was interrupted can be run "
    "again.\n\n"
    "Exit codes:\n"
    "  0     the step was done, or there was nothing to do\n"
    "  1     it was not; the reason is on standard error\n"
    "  2     wrong usage";

common::FlagSet MakeFlagSet(RotateFlags* to) {
  common::FlagSet flags(kProgram, "--state_dir DIR [flags]", kAbout);
  flags.Text("state_dir", "DIR", "folder of the coordinator; required", &to->state_dir);
  flags.Switch("status", "say how far the rotation is, and change nothing", &to->status);
  flags.Switch("finish",
               "delete the old authority; refused, with a list, while valid certificates are of it",
               &to->finish);
  flags.Switch("force",
               "with --finish: delete it all the same; the nodes and users of the list must join "
               "or log in again",
               &to->force);
  flags.Footer(kFooter);
  return flags;
}

}  // namespace

std::optional<int> ParseRotateFlags(int argc, char** argv, RotateFlags* flags) {
  common::FlagSet set = MakeFlagSet(flags);
  return common::ParseDaemonFlags(kProgram, argc - 1, argv + 1, &set, [flags] {
    if (flags->state_dir.empty()) {
      return absl::InvalidArgumentError(
          "--state_dir is missing; it names the folder of the coordinator, for example "
          "/var/lib/accel-coordinator");
    }
    if (flags->status && flags->finish) {
      return absl::InvalidArgumentError("--status and --finish exclude each other; give one");
    }
    if (flags->force && !flags->finish) {
      return absl::InvalidArgumentError("--force is for --finish; give both or none");
    }
    return absl::OkStatus();
  });
}

}  // namespace accel::coordinator
