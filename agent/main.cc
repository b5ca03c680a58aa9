#include <cstdio>
#include <optional>
#include <string>

#include "agent/daemon.h"
#include "agent/flags.h"
#include "common/log.h"
#include "common/stop_signal.h"

int main(int argc, char** argv) {
  const int stop_fd = accel::StopSignalFd();
  accel::AgentDaemonOptions options;
  if (const std::optional<int> code = accel::ParseAgentFlags(argc, argv, &options)) return *code;
  accel::InitLog("accel-agent", accel::LogLevel::kInfo);
  const absl::Status status = accel::RunAgentDaemon(options, stop_fd);
  if (status.ok()) return 0;
  std::fprintf(stderr, "accel-agent: %s\n", std::string(status.message()).c_str());
  return status.code() == absl::StatusCode::kInvalidArgument ? 2 : 1;
}
