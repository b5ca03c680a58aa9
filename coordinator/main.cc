// accel-coordinator: see flags.cc for its command line.

#include <signal.h>

#include <cstdio>

#include "common/log.h"
#include "common/state_dir.h"
#include "common/status_macros.h"
#include "common/token.h"
#include "coordinator/flags.h"
#include "coordinator/server.h"

namespace accel {
namespace {

absl::Status Serve(const CoordinatorFlags& flags, const sigset_t& ending) {
  ACCEL_ASSIGN_OR_RETURN(const UniqueFd lock, LockStateDir(flags.state_dir, "coordinator"));
  ServerOptions options;
  options.listen = flags.listen;
  options.limits.node_timeout = flags.node_timeout;
  ACCEL_ASSIGN_OR_RETURN(options.token, FindToken(flags.token_file, /*make=*/true));
  ACCEL_ASSIGN_OR_RETURN(const auto server, Server::Start(std::move(options)));
  std::printf("listening on %s\n", server->address().c_str());
  std::fflush(stdout);
  int signal = 0;
  sigwait(&ending, &signal);
  LogInfo("ending", {{"signal", signal}});
  return absl::OkStatus();
}

}  // namespace
}  // namespace accel

int main(int argc, char** argv) {
  accel::CoordinatorFlags flags;
  if (const auto exit_code = accel::ParseFlags(argc, argv, &flags)) return *exit_code;
  accel::InitLog("accel-coordinator", accel::LogLevel::kInfo);
  // Before any thread is made, so that all inherit it: the main thread alone takes these.
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  sigprocmask(SIG_BLOCK, &ending, nullptr);
  signal(SIGPIPE, SIG_IGN);
  const absl::Status status = accel::Serve(flags, ending);
  if (!status.ok()) accel::LogError("could not start", {{"why", status.message()}});
  return status.ok() ? 0 : 1;
}
