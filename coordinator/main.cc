// The program accel-coordinator. flags.cc describes its command line.

#include <csignal>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "common/descriptors.h"
#include "common/grpc_log.h"
#include "common/log.h"
#include "common/print_answer.h"
#include "common/priority.h"
#include "common/stop_signal.h"
#include "coordinator/daemon.h"
#include "coordinator/flags.h"
#include "coordinator/rotate_authority.h"
#include "coordinator/rotate_flags.h"
#include "security/undumpable.h"

using accel::common::PrintAnswer;
using accel::coordinator::BackUpStore;
using accel::coordinator::CheckStore;

constexpr char kName[] = "accel-coordinator";

int main(int argc, char** argv) {
  accel::security::BecomeUndumpable();
  if (argc > 1 && absl::string_view(argv[1]) == "rotate-ca") {
    accel::coordinator::RotateFlags flags;
    if (const auto code = accel::coordinator::ParseRotateFlags(argc, argv, &flags)) return *code;
    return PrintAnswer(kName, accel::coordinator::RotateAuthority(flags));
  }
  accel::coordinator::CoordinatorFlags flags;
  if (const auto exit_code = accel::coordinator::ParseFlags(argc, argv, &flags)) return *exit_code;
  accel::common::InitLog(kName, accel::common::LogLevel::kInfo);
  if (flags.check) return PrintAnswer(kName, CheckStore(flags));
  if (!flags.backup.empty()) return PrintAnswer(kName, BackUpStore(flags));
  accel::common::TakeGrpcLog();
  accel::common::RaiseDescriptorLimit();
  accel::common::RaiseDaemonPriority();
  // Debian's Abseil looks for deadlocks whenever a mutex is locked, which takes long with 10,000
  // connections. Tests do not call main(), so they still look.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // A write beyond the size limit of files is reported by the store like a full disk. The signal
  // must not end the process.
  signal(SIGXFSZ, SIG_IGN);
  const int stop_fd = accel::common::StopSignalFd();
  const absl::Status status = accel::coordinator::RunCoordinator(flags, stop_fd);
  return status.ok() ? 0 : PrintAnswer(kName, status);
}
