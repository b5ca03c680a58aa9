#include "coordinator/core/exit_status.h"

#include <string.h>

#include "absl/strings/str_cat.h"

namespace accel {
namespace {

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? absl::StrCat("signal ", signal) : absl::StrCat("SIG", name);
}

std::string WithMessage(absl::string_view text, const v1::ExitRecord& exit) {
  return exit.message().empty() ? std::string(text) : absl::StrCat(text, ": ", exit.message());
}

}  // namespace

bool IsSuccess(const v1::ExitRecord& exit) {
  return exit.kind() == v1::ExitRecord::EXITED && exit.code() == 0;
}

int JobExitCode(const v1::ExitRecord& exit) {
  switch (exit.kind()) {
    case v1::ExitRecord::EXITED:
    case v1::ExitRecord::NOT_STARTED:
      return exit.code() > 0 && exit.code() < 256 ? exit.code() : 1;
    case v1::ExitRecord::SIGNALLED:
      return exit.signal() > 0 && exit.signal() < 128 ? 128 + exit.signal() : 1;
    case v1::ExitRecord::TIMED_OUT:
      return kTimedOutExitCode;
    default:
      return 1;
  }
}

std::string DescribeExit(const v1::ExitRecord& exit) {
  switch (exit.kind()) {
    case v1::ExitRecord::EXITED:
      return absl::StrCat("exited with code ", exit.code());
    case v1::ExitRecord::SIGNALLED:
      return absl::StrCat("was killed by ", SignalName(exit.signal()),
                          exit.out_of_memory() ? " (out of memory)" : "",
                          exit.core_dumped() ? " (core dumped)" : "");
    case v1::ExitRecord::NOT_STARTED:
      return WithMessage("could not be started", exit);
    case v1::ExitRecord::SHIM_DIED:
      return WithMessage("was ended because its shim died", exit);
    case v1::ExitRecord::NODE_LOST:
      return WithMessage("was lost", exit);
    case v1::ExitRecord::TIMED_OUT:
      return WithMessage("ran out of time", exit);
    default:
      return "ended in an unknown way";
  }
}

std::string DescribeFailure(const v1::FailureCause& cause) {
  if (cause.rank() >= 0) {
    return absl::StrCat("rank ", cause.rank(), " on node ", cause.node_name(), " ",
                        DescribeExit(cause.exit()));
  }
  if (cause.node_name().empty()) return absl::StrCat("the job ", DescribeExit(cause.exit()));
  if (cause.exit().kind() == v1::ExitRecord::NODE_LOST) {
    return absl::StrCat("node ", cause.node_name(), " ", DescribeExit(cause.exit()));
  }
  return absl::StrCat("its part on node ", cause.node_name(), " ", DescribeExit(cause.exit()));
}

}  // namespace accel
