#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "agent/daemon.h"
#include "agent/flags.h"
#include "agent/join.h"
#include "agent/join_flags.h"
#include "common/grpc_log.h"
#include "common/log.h"
#include "common/print_answer.h"
#include "common/stop_signal.h"
#include "security/openssl_init.h"
#include "security/undumpable.h"

namespace {

// Returns the exit code, which is 2 for a mistake on the command line.
int Finish(const absl::StatusOr<std::string>& sentence) {
  const int code = accel::common::PrintAnswer("accel-agent", sentence);
  return absl::IsInvalidArgument(sentence.status()) ? 2 : code;
}

}  // namespace

int main(int argc, char** argv) {
  accel::security::BecomeUndumpable();
  accel::security::InitOpenSsl();
  if (argc > 1 && absl::string_view(argv[1]) == "join") {
    accel::agent::JoinOptions options;
    if (const auto code = accel::agent::ParseJoinFlags(argc, argv, &options)) return *code;
    return Finish(accel::agent::JoinCluster(options));
  }
  const int stop_fd = accel::common::StopSignalFd();
  accel::agent::AgentDaemonOptions options;
  if (const auto code = accel::agent::ParseAgentFlags(argc, argv, &options)) return *code;
  accel::common::InitLog("accel-agent", accel::common::LogLevel::kInfo);
  accel::common::TakeGrpcLog();
  // Debian's Abseil looks for deadlocks whenever a mutex is locked. Tests do not call main(), so
  // they still look.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  if (options.forget_cluster) return Finish(accel::agent::ForgetCluster(options));
  const absl::Status status = accel::agent::RunAgentDaemon(options, stop_fd);
  return status.ok() ? 0 : Finish(status);
}
