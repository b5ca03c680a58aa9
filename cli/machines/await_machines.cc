#include "cli/machines/await_machines.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

constexpr absl::Duration kFirstMessage = absl::Seconds(5);
constexpr absl::Duration kNextMessages = absl::Minutes(1);

}  // namespace

absl::StatusOr<int> AwaitMachines(const Awaited& awaited, int signals, absl::Duration timeout,
                                  const Console& console) {
  common::Clock* const clock = common::SteadyClock();
  const absl::Time begin = clock->Now();
  const absl::Time deadline = begin + timeout;
  absl::Time message_at = begin + kFirstMessage;
  while (true) {
    ACCEL_ASSIGN_OR_RETURN(const bool is_here, awaited.is_here());
    if (is_here) return 0;
    const absl::Time now = clock->Now();
    const std::string progress = awaited.progress();
    if (now >= deadline) {
      return absl::DeadlineExceededError(absl::StrCat(
          "after ", absl::FormatDuration(timeout), ", ",
          progress.empty() ? "not all machines are here" : absl::StrCat("only ", progress),
          "; run the same command on the others"));
    }
    if (now >= message_at) {
      if (!progress.empty()) {
        PrintMessage(console, absl::StrCat(progress, "; run the same command on the others"));
      }
      message_at = now + kNextMessages;
    }
    pollfd fds[] = {{awaited.wake_fd, POLLIN, 0}, {signals, POLLIN, 0}};
    timespec left = absl::ToTimespec(std::min(deadline, message_at) - now);
    ppoll(fds, 2, &left, nullptr);
    signalfd_siginfo info;
    if (fds[1].revents != 0 && read(signals, &info, sizeof(info)) == sizeof(info)) {
      return static_cast<int>(info.ssi_signo);
    }
  }
}

}  // namespace accel::cli
