// The program accel-coordinator. flags.cc describes its command line.

#include <poll.h>

#include <cstdio>

#include "common/descriptors.h"
#include "common/log.h"
#include "common/state_dir.h"
#include "common/status_macros.h"
#include "common/stop_signal.h"
#include "common/token.h"
#include "coordinator/flags.h"
#include "coordinator/server.h"

namespace accel::coordinator {
namespace {

absl::Status Serve(const CoordinatorFlags& flags, int stop_fd) {
  ACCEL_ASSIGN_OR_RETURN(const common::UniqueFd lock,
                         common::LockStateDir(flags.state_dir, "coordinator"));
  ServerOptions options;
  options.listen = flags.listen;
  options.limits.node_timeout = flags.node_timeout;
  ACCEL_ASSIGN_OR_RETURN(options.token, common::FindToken(flags.token_file, /*make=*/true));
  ACCEL_ASSIGN_OR_RETURN(const auto server, Server::Start(std::move(options)));
  std::printf("listening on %s\n", server->address().c_str());
  std::fflush(stdout);
  pollfd stop{stop_fd, POLLIN, 0};
  while (poll(&stop, 1, -1) != 1) {
  }
  common::LogInfo("asked to stop, shutting down");
  return absl::OkStatus();
}

}  // namespace
}  // namespace accel::coordinator

int main(int argc, char** argv) {
  accel::coordinator::CoordinatorFlags flags;
  if (const auto exit_code = accel::coordinator::ParseFlags(argc, argv, &flags)) return *exit_code;
  accel::common::InitLog("accel-coordinator", accel::common::LogLevel::kInfo);
  accel::common::RaiseDescriptorLimit();
  const int stop_fd = accel::common::StopSignalFd();
  const absl::Status status = accel::coordinator::Serve(flags, stop_fd);
  if (!status.ok()) accel::common::LogError("could not start", {{"why", status.message()}});
  return status.ok() ? 0 : 1;
}
