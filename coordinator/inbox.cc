#include "coordinator/inbox.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/core/node_report.h"

namespace accel::coordinator {
absl::Status Inbox::CheckRoom(size_t waiting) const {
  if (closed_) return absl::UnavailableError("the coordinator is shutting down");
  if (waiting < kMaxRequests) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(kMaxRequests, " requests are pending, which is the maximum; try again later"));
}

absl::Status Inbox::Request(ChangeEvent& event) {
  {
    absl::MutexLock lock(&mutex_);
    ACCEL_RETURN_IF_ERROR(CheckRoom(contents_.changes.size()));
    contents_.changes.push_back(std::move(event));
  }
  wakeup_.Notify();
  return absl::OkStatus();
}

absl::Status Inbox::Request(QueryEvent& event) {
  {
    absl::MutexLock lock(&mutex_);
    ACCEL_RETURN_IF_ERROR(CheckRoom(contents_.queries.size()));
    contents_.queries.push_back(std::move(event));
  }
  wakeup_.Notify();
  return absl::OkStatus();
}

void Inbox::Post(ChangeEvent event) {
  {
    absl::MutexLock lock(&mutex_);
    if (closed_) return;
    contents_.changes.push_back(std::move(event));
  }
  wakeup_.Notify();
}

void Inbox::Post(QueryEvent event) {
  {
    absl::MutexLock lock(&mutex_);
    if (closed_) return;
    contents_.queries.push_back(std::move(event));
  }
  wakeup_.Notify();
}

void Inbox::PostReport(SessionId session, NodeReport report) {
  ReportEvent event;
  event.session = session;
  event.at = clock_->Now();
  event.bytes = SpaceOf(report.observed);
  event.report = std::move(report);
  bool wakes = false;
  {
    absl::MutexLock lock(&mutex_);
    if (closed_) return;
    const auto [waiting, inserted] = reports_.emplace(session, contents_.changes.size());
    if (inserted) contents_.changes.emplace_back(ReportEvent{});
    auto& place = std::get<ReportEvent>(contents_.changes[waiting->second]);
    if (!place.refused.ok()) return;  // The session ends.
    // The report before has already ended the wait if something was new in it.
    wakes = event.report.news != News::kNothing || event.at >= quiet_until_;
    if (wakes) quiet_until_ = event.at + kQuiet;
    report_bytes_ -= place.bytes;
    if (!inserted) {
      const bool was_whole = event.report.is_whole();
      Replace(std::move(place.report), &event.report);
      // It may have got the description of the report before.
      if (event.report.is_whole() != was_whole) event.bytes = SpaceOf(event.report.observed);
    }
    if (report_bytes_ + event.bytes > kMaxReportBytes) {
      event.report = NodeReport();
      event.bytes = 0;
      event.refused = absl::ResourceExhaustedError(
          absl::StrCat("pending reports take ", report_bytes_, " bytes, and the maximum is ",
                       kMaxReportBytes, "; try again later"));
      wakes = true;
    }
    report_bytes_ += event.bytes;
    place = std::move(event);
  }
  if (wakes) wakeup_.Notify();
}

void Inbox::PostCommitted(absl::Status status) {
  {
    absl::MutexLock lock(&mutex_);
    contents_.committed = std::move(status);
  }
  wakeup_.Notify();
}

Inbox::Contents Inbox::Take(bool with_changes) {
  absl::MutexLock lock(&mutex_);
  Contents taken;
  taken.queries.swap(contents_.queries);
  taken.committed.swap(contents_.committed);
  if (with_changes) {
    taken.changes.swap(contents_.changes);
    reports_.clear();
    report_bytes_ = 0;
  }
  return taken;
}

void Inbox::Close() {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
}

}  // namespace accel::coordinator
