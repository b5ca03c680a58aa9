// The functions of CoordinatorLoop that other threads call. Each only posts an event to the inbox.
//
// Destroying a subscription also posts an event, which the inbox never refuses. The number of these
// events must be bounded. A refused request therefore returns a subscription that posts nothing.

#include <utility>

#include "coordinator/coordinator_loop.h"

namespace accel::coordinator {
namespace {

// The subscription of a refused request. It posts nothing.
class Refused final : public AgentSession {
  void Report(NodeReport) override {}
};

class PostedWatch final : public Subscription {
 public:
  PostedWatch(std::shared_ptr<Inbox> inbox, WatchId id) : inbox_(std::move(inbox)), id_(id) {}
  ~PostedWatch() override { inbox_->Post(QueryEvent(UnwatchEvent{id_})); }

 private:
  const std::shared_ptr<Inbox> inbox_;
  const WatchId id_;
};

class PostedReading final : public Subscription {
 public:
  PostedReading(std::shared_ptr<Inbox> inbox, LogReadId id) : inbox_(std::move(inbox)), id_(id) {}
  ~PostedReading() override { inbox_->Post(QueryEvent(EndReadLogsEvent{id_})); }

 private:
  const std::shared_ptr<Inbox> inbox_;
  const LogReadId id_;
};

class PostedSession final : public AgentSession {
 public:
  PostedSession(std::shared_ptr<Inbox> inbox, SessionId id) : inbox_(std::move(inbox)), id_(id) {}
  ~PostedSession() override { inbox_->Post(ChangeEvent(SessionClosed{id_})); }

  void Report(NodeReport report) override { inbox_->PostReport(id_, std::move(report)); }

 private:
  const std::shared_ptr<Inbox> inbox_;
  const SessionId id_;
};

}  // namespace

void CoordinatorLoop::SubmitJob(const Caller& caller, std::string submit_id, v1::JobSpec spec,
                                absl::AnyInvocable<void(absl::StatusOr<common::JobId>)> done) {
  ChangeEvent event(SubmitEvent{caller, std::move(submit_id), std::move(spec), std::move(done)});
  const absl::Status posted = inbox_->Request(event);
  if (!posted.ok()) std::get<SubmitEvent>(event).done(posted);
}

void CoordinatorLoop::CancelJob(const Caller& caller, common::JobId job, bool at_once,
                                absl::AnyInvocable<void(absl::Status)> done) {
  ChangeEvent event(CancelEvent{caller, std::move(job), at_once, std::move(done)});
  const absl::Status posted = inbox_->Request(event);
  if (!posted.ok()) std::get<CancelEvent>(event).done(posted);
}

void CoordinatorLoop::WithAccess(AccessAct act, absl::AnyInvocable<void(absl::Status)> done) {
  ChangeEvent event(AccessEvent{std::move(act), std::move(done)});
  const absl::Status posted = inbox_->Request(event);
  if (!posted.ok()) std::get<AccessEvent>(event).done(posted);
}

void CoordinatorLoop::DrainNode(std::string node, v1::Drain drain,
                                absl::AnyInvocable<void(absl::Status)> done) {
  ChangeEvent event(DrainEvent{std::move(node), drain, std::move(done)});
  const absl::Status posted = inbox_->Request(event);
  if (!posted.ok()) std::get<DrainEvent>(event).done(posted);
}

std::unique_ptr<Subscription> CoordinatorLoop::WatchJob(
    const Caller& caller, common::JobId job, uint64_t known_version,
    absl::AnyInvocable<void(absl::StatusOr<JobPtr>)> on_change) {
  const WatchId id = next_id_++;
  QueryEvent event(WatchEvent{id, caller, std::move(job), known_version, std::move(on_change)});
  const absl::Status posted = inbox_->Request(event);
  if (!posted.ok()) {
    std::get<WatchEvent>(event).on_change(posted);
    return std::make_unique<Refused>();
  }
  return std::make_unique<PostedWatch>(inbox_, id);
}

void CoordinatorLoop::ListJobs(const Caller& caller, common::JobId job,
                               absl::AnyInvocable<void(absl::StatusOr<std::vector<JobPtr>>)> done) {
  QueryEvent event(ListJobsEvent{caller, std::move(job), std::move(done)});
  const absl::Status posted = inbox_->Request(event);
  if (!posted.ok()) std::get<ListJobsEvent>(event).done(posted);
}

void CoordinatorLoop::ListNodes(
    absl::AnyInvocable<void(absl::StatusOr<v1::ListNodesResponse>)> done) {
  QueryEvent event(ListNodesEvent{std::move(done)});
  const absl::Status posted = inbox_->Request(event);
  if (!posted.ok()) std::get<ListNodesEvent>(event).done(posted);
}

std::unique_ptr<Subscription> CoordinatorLoop::ReadLogs(const Caller& caller,
                                                        v1::ReadLogsRequest request,
                                                        std::shared_ptr<LogPipe> pipe) {
  const LogReadId id = next_id_++;
  QueryEvent event(ReadLogsEvent{id, caller, std::move(request), std::move(pipe)});
  const absl::Status posted = inbox_->Request(event);
  if (!posted.ok()) {
    std::get<ReadLogsEvent>(event).pipe->Fail(posted);
    return std::make_unique<Refused>();
  }
  return std::make_unique<PostedReading>(inbox_, id);
}

std::shared_ptr<LogPipe> CoordinatorLoop::FindLogPipe(const Caller& caller,
                                                      const std::string& reader_id) {
  return log_hub_.FindPipe(reader_id, caller);
}

void CoordinatorLoop::EndRelay(std::string reader_id) {
  inbox_->Post(QueryEvent(EndRelayEvent{std::move(reader_id)}));
}

std::unique_ptr<AgentSession> CoordinatorLoop::OpenAgentSession(const Caller& caller,
                                                                AgentCallbacks callbacks) {
  const SessionId id = next_id_++;
  ChangeEvent event(SessionOpened{id, caller, std::move(callbacks)});
  const absl::Status posted = inbox_->Request(event);
  if (!posted.ok()) {
    std::get<SessionOpened>(event).callbacks.on_closed(posted);
    return std::make_unique<Refused>();
  }
  return std::make_unique<PostedSession>(inbox_, id);
}

}  // namespace accel::coordinator
