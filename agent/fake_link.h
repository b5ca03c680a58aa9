// A CoordinatorLink for tests. The test plays the coordinator.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "agent/coordinator_link.h"
#include "common/wake_fd.h"

namespace accel::agent {

class FakeLink final : public CoordinatorLink {
 public:
  uint64_t session() override { return session_; }
  void Report(v1::NodeObserved observed) override { reports.push_back(std::move(observed)); }
  int64_t max_report_bytes() override { return max_report_bytes_; }
  std::optional<v1::NodeDesired> TakeDesired(uint64_t session) override {
    wake_.Clear();
    if (session != session_ || session == 0) return std::nullopt;
    return std::exchange(desired_, std::nullopt);
  }
  absl::Status fatal() override { return fatal_; }
  int wake_fd() const override { return wake_.get(); }

  void SetSession(uint64_t session) {
    session_ = session;
    wake_.Wake();
  }
  void SetMaxReportBytes(int64_t most) { max_report_bytes_ = most; }
  void Desire(v1::NodeDesired desired) {
    desired_ = std::move(desired);
    wake_.Wake();
  }
  void Fail(absl::Status fatal) {
    fatal_ = std::move(fatal);
    wake_.Wake();
  }

  std::vector<v1::NodeObserved> reports;  // Newest last.

 private:
  uint64_t session_ = 1;
  int64_t max_report_bytes_ = kMaxReportBytes;
  std::optional<v1::NodeDesired> desired_;
  absl::Status fatal_;
  common::WakeFd wake_;
};

}  // namespace accel::agent
