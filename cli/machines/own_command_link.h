// A link over which the agent of one machine starts that machine's own command, as of
// UseOwnCommand(), instead of the command of the machine that serves.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "agent/coordinator_link.h"
#include "cli/machines/core/terms.h"

namespace accel::cli {

class OwnCommandLink final : public agent::CoordinatorLink {
 public:
  OwnCommandLink(std::unique_ptr<agent::CoordinatorLink> link, v1::JobSpec own)
      : link_(std::move(link)), own_(std::move(own)) {}

  uint64_t session() override { return link_->session(); }
  void Report(v1::NodeObserved observed) override { link_->Report(std::move(observed)); }
  int64_t max_report_bytes() override { return link_->max_report_bytes(); }
  std::optional<v1::NodeDesired> TakeDesired(uint64_t session) override {
    std::optional<v1::NodeDesired> desired = link_->TakeDesired(session);
    if (desired.has_value()) UseOwnCommand(own_, &*desired);
    return desired;
  }
  absl::Status fatal() override { return link_->fatal(); }
  int wake_fd() const override { return link_->wake_fd(); }

 private:
  const std::unique_ptr<agent::CoordinatorLink> link_;
  const v1::JobSpec own_;
};

}  // namespace accel::cli
