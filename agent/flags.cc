#include "agent/flags.h"

#include <CLI/CLI.hpp>
#include <map>
#include <string>

#include "common/version.h"

namespace accel::agent {
namespace {

constexpr char kFooter[] =
    "SIGTERM and SIGINT stop the agent. Its jobs continue, and the next agent with this state "
    "directory adopts them, unless --on_stop says otherwise. Jobs with --on_agent_loss=end are "
    "ended "
    "first.\n"
    "Exit codes: 0 stopped by SIGTERM or SIGINT, or the cluster was forgotten; 1 cannot continue; "
    "2 wrong usage.";

// The size of the disk is known only later, and does not decide whether the text is a limit.
std::string CheckOutputLimit(const std::string& text) {
  return std::string(ParseOutputLimit(text, int64_t{1} << 40).status().message());
}

}  // namespace

std::optional<int> ParseAgentFlags(int argc, char** argv, AgentDaemonOptions* options) {
  CLI::App app("accel-agent: runs jobs on this node for a coordinator.");
  app.footer(kFooter);
  app.set_version_flag("--version", std::string("accel-agent ") + common::kVersion);
  app.add_option("--coordinator", options->coordinator, "HOST:PORT of the coordinator; required")
      ->envname("ACCEL_COORDINATOR");
  app.add_option("--state_dir,--state-dir", options->state_dir,
                 "this agent's directory, made if missing")
      ->required();
  app.add_option("--name", options->name, "name of this node; default: the host's name");
  app.add_option(
      "--advertise", options->advertise,
      "address by which other nodes reach this one; default: that of the route to the coordinator");
  app.add_option(
      "--token_file,--token-file", options->token_file,
      "file with the token; default: ACCEL_TOKEN, then ~/.config/accel/token, made if missing");
  app.add_option("--shim", options->shim,
                 "path of accel-shim; default: ACCEL_SHIM, then next to this program");
  app.add_option("--output_limit,--output-limit", options->output_limit,
                 "maximum size of all jobs' output in the state directory, such as 20GiB, or a "
                 "share of the disk; the oldest goes first. The default is at most 100GiB")
      ->check(CheckOutputLimit)
      ->capture_default_str();
  app.add_option("--on_stop,--on-stop", options->on_stop,
                 "what SIGTERM does to jobs. stay: they continue; leave: they are stopped here and "
                 "start again on other nodes; auto: leave if systemd is shutting the host down")
      ->transform(CLI::CheckedTransformer(std::map<std::string, OnStop>{
          {"auto", OnStop::kAuto}, {"stay", OnStop::kStay}, {"leave", OnStop::kLeave}}))
      ->default_str("auto");
  app.add_flag("--forget_cluster,--forget-cluster", options->forget_cluster,
               "let this node join another cluster, and exit; its next agent ends the jobs of its "
               "present cluster");
  try {
    app.parse(argc, argv);
    if (options->coordinator.empty() && !options->forget_cluster) {
      throw CLI::RequiredError("--coordinator");
    }
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

}  // namespace accel::agent
