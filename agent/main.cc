#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "absl/time/time.h"
#include "agent/daemon.h"
#include "common/log.h"
#include "common/stop_signal.h"
#include "common/version.h"

namespace {

constexpr double kMostLeftoverGrace = 86'400;

}  // namespace

int main(int argc, char** argv) {
  const int stop_fd = accel::StopSignalFd();
  accel::AgentDaemonOptions options;
  CLI::App app("accel-agent: runs jobs on this node for a coordinator.");
  app.footer(
      "Exit codes: 0 stopped by SIGTERM or SIGINT, after its jobs have ended; 1 cannot go on; 2 "
      "wrong usage.");
  app.set_version_flag("--version", std::string("accel-agent ") + accel::kVersion);
  app.add_option("--coordinator", options.coordinator, "HOST:PORT of the coordinator")
      ->envname("ACCEL_COORDINATOR")
      ->required();
  app.add_option("--state_dir,--state-dir", options.state_dir,
                 "this agent's directory, made if it is missing")
      ->required();
  app.add_option("--name", options.name, "of this node; default: the host's name");
  app.add_option(
      "--advertise", options.advertise,
      "address that other nodes reach this one by; default: that of the route to the coordinator");
  app.add_option("--token_file,--token-file", options.token_file,
                 "default: ACCEL_TOKEN, then ~/.config/accel/token, made if it is missing");
  app.add_option("--shim", options.shim,
                 "path of accel-shim; default: ACCEL_SHIM, then beside this program");
  double leftover_grace = absl::ToDoubleSeconds(options.leftover_grace);
  app.add_option(
         "--leftover_grace,--leftover-grace", leftover_grace,
         "seconds in which jobs that an agent has left by its death may end before this one "
         "kills them")
      ->check(CLI::Range(0.0, kMostLeftoverGrace))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  options.leftover_grace = absl::Seconds(leftover_grace);
  accel::InitLog("accel-agent", accel::LogLevel::kInfo);
  const absl::Status status = accel::RunAgentDaemon(options, stop_fd);
  if (status.ok()) return 0;
  std::fprintf(stderr, "accel-agent: %s\n", std::string(status.message()).c_str());
  return status.code() == absl::StatusCode::kInvalidArgument ? 2 : 1;
}
