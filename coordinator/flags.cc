#include "coordinator/flags.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/daemon_command_line.h"
#include "common/host_port.h"
#include "common/status_macros.h"

namespace accel::coordinator {
namespace {

constexpr char kAbout[] =
    "Registers nodes, queues jobs, and decides what runs where. One of it serves a cluster. It "
    "prints 'listening on unix:PATH' once it accepts calls, and 'listening on HOST:PORT' with "
    "--listen. Jobs, nodes and results are stored in "
    "--state_dir before anyone is told of them: after a crash, an upgrade or a reboot, start it "
    "again with the same --state_dir, and running jobs continue.";

constexpr char kFooter[] =
    "`accel-coordinator rotate-ca --help` describes how the cluster's authority is replaced.\n\n"
    "SIGTERM and SIGINT shut it down; SIGHUP, SIGUSR1 and SIGUSR2 are ignored.\n\n"
    "Exit codes:\n"
    "  0     shut down by a signal, or the check or the copy was done\n"
    "  1     it could not start, or the store is damaged; the reason is on standard error\n"
    "  2     wrong usage";

// Minimum timeout, in seconds. Agents report more than twice within it. With a shorter one, a node
// that is busy for a moment would count as lost.
constexpr double kLeastTimeout = 0.5;
constexpr double kMaxTimeout = 86'400;

common::FlagSet::Reader SecondsTo(absl::Duration* to) {
  return [to](const std::string& text) {
    double seconds = 0;
    if (!absl::SimpleAtod(text, &seconds) || !(seconds >= kLeastTimeout) || seconds > kMaxTimeout) {
      return absl::InvalidArgumentError(
          absl::StrCat("it must be a number of seconds from ", kLeastTimeout, " to ", kMaxTimeout));
    }
    *to = absl::Seconds(seconds);
    return absl::OkStatus();
  };
}

common::FlagSet MakeFlagSet(CoordinatorFlags* to) {
  common::FlagSet flags("accel-coordinator", "--state_dir DIR [flags]", kAbout);
  flags.Text("socket", "PATH",
             "the Unix socket, which is always served, to this user and root (default: "
             "ACCEL_COORDINATOR if it is unix:PATH, then /run/accel/coordinator for root, "
             "$XDG_RUNTIME_DIR/accel/coordinator, ~/.config/accel/run/coordinator)",
             &to->socket);
  flags.Value("listen", "HOST:PORT",
              "address to serve in addition; port 0 picks one (default: no TCP address)",
              [to](const std::string& text) -> absl::Status {
                ACCEL_RETURN_IF_ERROR(common::ParseHostPort(text).status());
                to->listen = text;
                return absl::OkStatus();
              });
  flags.Text("state_dir", "DIR",
             "folder of this coordinator, with all that it must not forget; created if it does not "
             "exist; required",
             &to->state_dir);
  flags.Value("node_timeout", "SECONDS",
              "silence after which a node counts as lost, at least 0.5; with more than 1,000 "
              "nodes, the limit grows with their number (default: 3)",
              SecondsTo(&to->node_timeout));
  flags.Value("grow_after", "SECONDS",
              "how long an elastic job must have run, and a new node must have been connected, "
              "before the job is started again on more nodes; at least 0.5 (default: 30)",
              SecondsTo(&to->grow_after));
  flags.Switch("check", "check what is stored in --state_dir, and exit; a coordinator may run",
               &to->check);
  flags.Text("backup", "FILE",
             "copy what is stored in --state_dir to this file, and exit; a coordinator may run",
             &to->backup);
  flags.Footer(kFooter);
  return flags;
}

}  // namespace

std::optional<int> ParseFlags(int argc, char** argv, CoordinatorFlags* flags) {
  common::FlagSet set = MakeFlagSet(flags);
  return common::ParseDaemonFlags("accel-coordinator", argc, argv, &set, [flags] {
    if (flags->state_dir.empty()) {
      return absl::InvalidArgumentError(
          "--state_dir is missing; it names the folder of this coordinator, for example "
          "/var/lib/accel-coordinator");
    }
    if (flags->check && !flags->backup.empty()) {
      return absl::InvalidArgumentError("--check and --backup exclude each other; give one");
    }
    return absl::OkStatus();
  });
}

}  // namespace accel::coordinator
