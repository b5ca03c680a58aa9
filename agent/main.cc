#include <cstdio>
#include <optional>
#include <string>

#include "agent/daemon.h"
#include "agent/flags.h"
#include "common/log.h"
#include "common/stop_signal.h"

int main(int argc, char** argv) {
  const int stop_fd = accel::common::StopSignalFd();
  accel::agent::AgentDaemonOptions options;
  if (const std::optional<int> code = accel::agent::ParseAgentFlags(argc, argv, &options))
    return *code;
  accel::common::InitLog("accel-agent", accel::common::LogLevel::kInfo);
  absl::Status status;
  if (options.forget_cluster) {
    const absl::StatusOr<std::string> done = accel::agent::ForgetCluster(options);
    if (done.ok()) std::printf("%s\n", done->c_str());
    status = done.status();
  } else {
    status = accel::agent::RunAgentDaemon(options, stop_fd);
  }
  if (status.ok()) return 0;
  std::fprintf(stderr, "accel-agent: %s\n", std::string(status.message()).c_str());
  return status.code() == absl::StatusCode::kInvalidArgument ? 2 : 1;
}
