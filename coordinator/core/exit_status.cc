#include "coordinator/core/exit_status.h"

namespace accel::coordinator {

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

}  // namespace accel::coordinator
