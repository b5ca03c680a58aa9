// A CoordinatorLink that applies UseOwnCommand() to each desired state. Through it, the agent of a
// machine starts this machine's own command instead of that of the serving machine.
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
