#include "coordinator/flags.h"

#include <CLI/CLI.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/host_port.h"
#include "common/version.h"

namespace accel::coordinator {
namespace {

constexpr char kFooter[] =
    "Prints 'listening on HOST:PORT' once it accepts calls. SIGTERM and SIGINT shut it down; "
    "SIGHUP, SIGUSR1 and SIGUSR2 are ignored.\n"
    "Jobs, nodes and results are stored in --state_dir before anyone is told of them. After a "
    "crash, "
    "an upgrade or a reboot, start it again with the same --state_dir: running jobs go on.\n"
    "Exit codes: 0 shut down by a signal, or the check or the copy was done; 1 could not start, or "
    "the store is damaged (the reason is on standard error); 2 bad command line.";

// Minimum timeout, in seconds. Agents report more than twice within it. With a shorter one, a node
// that is busy for a moment would count as lost.
constexpr double kLeastTimeout = 0.5;
constexpr double kMaxTimeout = 86'400;

// Checks the range by itself, because CLI::Range accepts "nan".
std::string CheckTimeout(const std::string& text) {
  double seconds = 0;
  if (absl::SimpleAtod(text, &seconds) && seconds >= kLeastTimeout && seconds <= kMaxTimeout) {
    return "";
  }
  return absl::StrCat("must be ", kLeastTimeout, " to ", kMaxTimeout, " seconds, not ", text);
}

}  // namespace

std::optional<int> ParseFlags(int argc, char** argv, CoordinatorFlags* flags) {
  double node_timeout = absl::ToDoubleSeconds(flags->node_timeout);
  double grow_after = absl::ToDoubleSeconds(flags->grow_after);
  CLI::App app("Registers nodes, queues jobs, and decides what runs where.", "accel-coordinator");
  app.footer(kFooter);
  app.set_version_flag("--version", std::string("accel-coordinator ") + common::kVersion);
  app.add_option("--listen", flags->listen, "HOST:PORT to serve; port 0 picks one")
      ->check([](const std::string& text) {
        return std::string(common::ParseHostPort(text).status().message());
      })
      ->capture_default_str();
  app.add_option("--state_dir,--state-dir", flags->state_dir,
                 "Folder of this coordinator, with all that it must not forget; created if it does "
                 "not exist")
      ->required();
  app.add_option("--token_file,--token-file", flags->token_file,
                 "File with the token that every call must carry [ACCEL_TOKEN, else "
                 "~/.config/accel/token, created if it does not exist]");
  app.add_option(
         "--node_timeout,--node-timeout", node_timeout,
         "Seconds of silence after which a node counts as lost; at least 0.5. With more than "
         "1,000 nodes, the limit grows with their number")
      ->check(CheckTimeout)
      ->capture_default_str();
  app.add_option("--grow_after,--grow-after", grow_after,
                 "Seconds for which an elastic job must have run, and a new node must have been "
                 "connected, before the job is started again on more nodes; at least 0.5")
      ->check(CheckTimeout)
      ->capture_default_str();
  auto* check =
      app.add_flag("--check", flags->check,
                   "Check what is stored in --state_dir, and exit; a coordinator may run");
  app.add_option("--backup", flags->backup,
                 "Copy what is stored in --state_dir to this file, and exit; a coordinator may run")
      ->excludes(check);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  flags->node_timeout = absl::Seconds(node_timeout);
  flags->grow_after = absl::Seconds(grow_after);
  return std::nullopt;
}

}  // namespace accel::coordinator
