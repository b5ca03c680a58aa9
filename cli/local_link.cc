#include "cli/local_link.h"

#include <utility>

namespace accel::cli {

LocalLink::LocalLink(coordinator::Coordinator* coordinator) : inbox_(std::make_shared<Inbox>()) {
  session_ = coordinator->OpenAgentSession(
      coordinator::Owner(), {
                                .on_desired =
                                    [inbox = inbox_](coordinator::DesiredPtr desired) {
                                      absl::MutexLock lock(&inbox->mutex);
                                      inbox->desired = std::move(desired);
                                      inbox->wake.Wake();
                                    },
                                .on_closed =
                                    [inbox = inbox_](absl::Status why) {
                                      absl::MutexLock lock(&inbox->mutex);
                                      inbox->closed = std::move(why);
                                      inbox->wake.Wake();
                                    },
                            });
}

std::optional<v1::NodeDesired> LocalLink::TakeDesired(uint64_t) {
  inbox_->wake.Clear();
  coordinator::DesiredPtr desired;
  {
    absl::MutexLock lock(&inbox_->mutex);
    desired = std::exchange(inbox_->desired, nullptr);
  }
  if (desired == nullptr) return std::nullopt;
  return coordinator::Whole(*desired);
}

absl::Status LocalLink::fatal() {
  absl::MutexLock lock(&inbox_->mutex);
  return inbox_->closed;
}

}  // namespace accel::cli
