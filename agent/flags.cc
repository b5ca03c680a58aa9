#include "agent/flags.h"

#include <string>

#include "absl/strings/str_split.h"
#include "common/daemon_command_line.h"
#include "common/port_range.h"
#include "common/status_macros.h"
#include "process/max_processes.h"

namespace accel::agent {
namespace {

constexpr size_t kMaxNameBytes = 256;

constexpr char kAbout[] =
    "Runs jobs on this node for a coordinator. Every node of a cluster runs one agent. It connects "
    "to the coordinator and listens on no port that is served.";

constexpr char kFooter[] =
    "SIGTERM and SIGINT stop the agent. Its jobs continue, and the next agent with this state "
    "directory adopts them, unless --on_stop says otherwise. Jobs with --on_agent_loss=end are "
    "ended first.\n\n"
    "Exit codes:\n"
    "  0     stopped by SIGTERM or SIGINT, or the cluster was forgotten\n"
    "  1     it cannot continue; the reason is on standard error\n"
    "  2     wrong usage";

absl::Status ReadOutputLimit(const std::string& text, std::string* to) {
  // The size of the disk is known only later, and does not decide whether the text is a limit.
  ACCEL_RETURN_IF_ERROR(ParseOutputLimit(text, int64_t{1} << 40).status());
  *to = text;
  return absl::OkStatus();
}

absl::Status ReadOnStop(const std::string& text, OnStop* to) {
  if (text != "auto" && text != "stay" && text != "leave") {
    return absl::InvalidArgumentError("it must be auto, stay or leave");
  }
  *to = text == "auto" ? OnStop::kAuto : (text == "stay" ? OnStop::kStay : OnStop::kLeave);
  return absl::OkStatus();
}

absl::Status ReadNames(const std::string& text, std::set<std::string>* to) {
  for (absl::string_view name : absl::StrSplit(text, ',')) {
    if (name.empty() || name.size() > kMaxNameBytes) {
      return absl::InvalidArgumentError("write names with commas between them");
    }
    to->emplace(name);
  }
  return absl::OkStatus();
}

common::FlagSet MakeFlagSet(AgentDaemonOptions* to) {
  common::FlagSet flags("accel-agent", "--state_dir DIR [flags]", kAbout);
  flags.Text("coordinator", "HOST:PORT|unix:PATH",
             "the coordinator (default: ACCEL_COORDINATOR, then the Unix socket of this machine's "
             "coordinator)",
             &to->coordinator);
  flags.Text("state_dir", "DIR",
             "folder of this agent and of its jobs' output; created if it does not exist; required",
             &to->state_dir);
  flags.Text(
      "name", "NAME",
      "name of this node (default: the one with which it has joined, or else the host's name)",
      &to->name);
  flags.Text("advertise", "ADDRESS|INTERFACE|NETWORK",
             "how other nodes reach this one: an address of this host, an interface such as eth0, "
             "or a network such as 10.0.0.0/8 (default: the address from which this host reaches "
             "the coordinator)",
             &to->advertise);
  flags.Value("port_range", "FIRST-LAST",
              "ports of jobs' rendezvous stores, such as 29500-29599 (default: any free port)",
              [to](const std::string& text) -> absl::Status {
                ACCEL_RETURN_IF_ERROR(common::ParsePortRange(text).status());
                to->port_range = text;
                return absl::OkStatus();
              });
  flags.Text("shim", "PATH",
             "path of accel-shim (default: ACCEL_SHIM, then the folder of this program)",
             &to->shim);
  flags.Value("output_limit", "SIZE|PERCENT",
              "maximum size of all jobs' output in the state directory, such as 20GiB, or a share "
              "of the disk, such as 5%; the oldest goes first (default: 10%, at most 100GiB)",
              [to](const std::string& text) { return ReadOutputLimit(text, &to->output_limit); });
  flags.Int("max_processes", "N",
            "maximum number of processes and threads of each job on this node (default: three "
            "quarters of what the node can have, at most 1024 for each CPU or 16384 in all)",
            &to->max_processes, process::kLeastMaxProcesses, process::kMostMaxProcesses);
  flags.Value("on_stop", "auto|stay|leave",
              "what SIGTERM does to jobs. stay: they continue; leave: they are stopped here and "
              "start again on other nodes; auto: leave if systemd is shutting the host down "
              "(default: auto)",
              [to](const std::string& text) { return ReadOnStop(text, &to->on_stop); });
  flags.Value("allow_system_users", "ACCOUNT,…",
              "accounts of the system, or root, that may run jobs nevertheless, if the agent is "
              "root (default: none)",
              [to](const std::string& text) { return ReadNames(text, &to->allowed_system_users); });
  flags.Value("pass_env", "NAME,…",
              "variables of the agent that jobs of other users inherit, if the agent is root "
              "(default: LANG, TZ)",
              [to](const std::string& text) { return ReadNames(text, &to->pass_env); });
  flags.Switch("forget_cluster",
               "let this node join another cluster, and exit; its next agent ends the jobs of its "
               "present cluster",
               &to->forget_cluster);
  flags.Footer(kFooter);
  return flags;
}

absl::Status Check(const AgentDaemonOptions& options) {
  if (!options.state_dir.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--state_dir is missing; it names the folder of this agent, for example "
      "/var/lib/accel-agent");
}

}  // namespace

std::optional<int> ParseAgentFlags(int argc, char** argv, AgentDaemonOptions* options) {
  common::FlagSet flags = MakeFlagSet(options);
  return common::ParseDaemonFlags("accel-agent", argc, argv, &flags,
                                  [options] { return Check(*options); });
}

}  // namespace accel::agent
