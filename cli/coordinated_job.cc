#include "cli/coordinated_job.h"

#include <poll.h>

#include <cerrno>

namespace accel::cli {

absl::StatusOr<common::JobId> SubmitLaunch(coordinator::Coordinator* coordinator,
                                           const v1::JobSpec& spec) {
  struct Answer {
    common::WakeFd wake;
    absl::StatusOr<common::JobId> job;
  };
  const auto answer = std::make_shared<Answer>();
  coordinator->SubmitJob(coordinator::Owner(), "launch", spec,
                         [answer](absl::StatusOr<common::JobId> job) {
                           answer->job = std::move(job);
                           answer->wake.Wake();
                         });
  pollfd ready = {answer->wake.get(), POLLIN, 0};
  while (poll(&ready, 1, -1) < 0 && errno == EINTR) {
  }
  return answer->job;
}

}  // namespace accel::cli
