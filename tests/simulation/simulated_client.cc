#include "tests/simulation/simulated_client.h"

#include "absl/strings/str_cat.h"
#include "common/job_phase.h"

namespace accel::simulation {
namespace {

// As in cli/follow_job.cc and cli/retry_deadline.h.
constexpr absl::Duration kTryDeadline = absl::Seconds(5);
constexpr absl::Duration kFirstPause = absl::Milliseconds(20);
constexpr absl::Duration kLongestPause = absl::Seconds(1);
// How long after the end of a job the client looks at it again.
constexpr absl::Duration kLooksAfter = absl::Seconds(3);

}  // namespace

SimulatedClient::SimulatedClient(int number, v1::JobSpec spec, uint32_t seed,
                                 const ClientHabits* habits, SimulatedCoordinator* coordinator,
                                 common::Clock* clock)
    : number_(number),
      submit_id_(absl::StrCat("submit-", number)),
      spec_(std::move(spec)),
      habits_(*habits),
      coordinator_(coordinator),
      clock_(clock),
      random_(seed),
      backoff_(kFirstPause, kLongestPause, seed) {}

void SimulatedClient::Cancel(bool at_once) {
  cancel_ = true;
  at_once_ |= at_once;
}

void SimulatedClient::Drop() {
  if (call_ != nullptr) Retry();
}

void SimulatedClient::Retry() {
  if (!call_->arrived) late_.push_back(call_);
  call_.reset();
  next_call_ = clock_->Now() + backoff_.Next();
}

void SimulatedClient::Begin(Call::Kind kind) {
  call_ = std::make_shared<Call>();
  call_->kind = kind;
  call_->life = coordinator_->life();
  call_->sent_at = clock_->Now() + habits_.longest_delay * Chance();
  call_->at_once = at_once_;
  call_->give_up_at =
      kind == Call::Kind::kWatch ? absl::InfiniteFuture() : clock_->Now() + kTryDeadline;
}

void SimulatedClient::Answer(const std::weak_ptr<Call>& call,
                             absl::StatusOr<coordinator::JobPtr> answer) {
  const std::shared_ptr<Call> living = call.lock();
  if (living == nullptr) return;
  if (living->kind != Call::Kind::kWatch && Chance() < habits_.lost) return;
  absl::Time at = clock_->Now() + habits_.longest_delay * Chance();
  if (!living->answers.empty()) at = std::max(at, living->answers.back().first);
  living->answers.emplace_back(at, std::move(answer));
}

void SimulatedClient::Arrive(const std::shared_ptr<Call>& call) {
  call->arrived = true;
  const std::weak_ptr<Call> weak = call;
  coordinator::Coordinator& process = *coordinator_->process();
  switch (call->kind) {
    case Call::Kind::kSubmit:
      return process.SubmitJob(coordinator::Owner(), submit_id_, spec_,
                               [this, weak](absl::StatusOr<common::JobId> id) {
                                 if (!id.ok()) return Answer(weak, id.status());
                                 v1::Job job;
                                 job.set_job_id(id->value());
                                 Answer(weak, std::make_shared<const v1::Job>(std::move(job)));
                               });
    case Call::Kind::kCancel:
      return process.CancelJob(coordinator::Owner(), *job_, call->at_once,
                               [this, weak](absl::Status status) {
                                 if (status.ok())
                                   return Answer(weak, std::make_shared<const v1::Job>());
                                 Answer(weak, std::move(status));
                               });
    case Call::Kind::kWatch:
      call->watch = process.WatchJob(
          coordinator::Owner(), *job_, known_version_,
          [this, weak](absl::StatusOr<coordinator::JobPtr> job) { Answer(weak, std::move(job)); });
  }
}

void SimulatedClient::Run() {
  std::erase_if(late_, [this](const std::shared_ptr<Call>& call) {
    if (call->life != coordinator_->life() || coordinator_->process() == nullptr) return true;
    if (!coordinator_->runs() || clock_->Now() < call->sent_at) return false;
    Arrive(call);
    return true;
  });
  if (call_ == nullptr && clock_->Now() >= next_call_ && !done()) {
    if (!job_.has_value()) {
      Begin(Call::Kind::kSubmit);
    } else {
      Begin(cancel_ ? Call::Kind::kCancel : Call::Kind::kWatch);
    }
  }
  if (call_ == nullptr) return;
  // A cancel interrupts a watch, because this client makes one call at a time.
  if (call_->kind == Call::Kind::kWatch && cancel_) return Retry();
  // What the coordinator has answered before it was killed still arrives.
  TakeAnswers();
  if (call_ == nullptr || !call_->answers.empty()) return;
  if (call_->life != coordinator_->life() || coordinator_->process() == nullptr) return Retry();
  if (clock_->Now() >= call_->give_up_at) return Retry();
  if (!call_->arrived && coordinator_->runs() && clock_->Now() >= call_->sent_at) Arrive(call_);
}

void SimulatedClient::TakeAnswers() {
  while (call_ != nullptr && !call_->answers.empty() &&
         clock_->Now() >= call_->answers.front().first) {
    const absl::StatusOr<coordinator::JobPtr> answer = std::move(call_->answers.front().second);
    call_->answers.pop_front();
    Take(answer.status(), answer.ok() ? *answer : nullptr);
  }
}

void SimulatedClient::Take(const absl::Status& status, const coordinator::JobPtr& job) {
  if (absl::IsUnavailable(status)) return Retry();
  if (!status.ok()) {
    Found(absl::StrCat("was answered ", status.ToString()));
    return Retry();
  }
  backoff_.Reset();
  switch (call_->kind) {
    case Call::Kind::kSubmit:
      job_.emplace(job->job_id());
      call_.reset();
      return;
    case Call::Kind::kCancel:
      cancelled_at_ = std::min(cancelled_at_, clock_->Now());
      cancel_ = cancel_ && call_->at_once != at_once_;
      call_.reset();
      return;
    case Call::Kind::kWatch:
      return TakeVersion(*job);
  }
}

void SimulatedClient::TakeVersion(const v1::Job& job) {
  if (job.job_id() != job_->value() || job.submit_id() != submit_id_) {
    Found(absl::StrCat("watches ", job_->value(), " and was sent ", job.job_id(), " of ",
                       job.submit_id()));
  }
  if (job.version() < known_version_) {
    Found(absl::StrCat("knows version ", known_version_, " and was sent ", job.version()));
  }
  known_version_ = job.version();
  if (!common::IsFinal(job.phase())) {
    if (end_.has_value()) {
      Found(absl::StrCat("was told ", v1::JobPhase_Name(*end_), " and then ",
                         v1::JobPhase_Name(job.phase())));
    }
    return;
  }
  if (end_.has_value()) --looks_;
  if (end_.value_or(job.phase()) != job.phase()) {
    Found(absl::StrCat("was told ", v1::JobPhase_Name(*end_), " and then ",
                       v1::JobPhase_Name(job.phase())));
  }
  end_ = job.phase();
  call_.reset();
  next_call_ = clock_->Now() + kLooksAfter;
}

void SimulatedClient::Found(std::string what) {
  if (!found_.ok()) return;
  found_ = absl::FailedPreconditionError(absl::StrCat("the client of job ", number_, " ", what));
}

}  // namespace accel::simulation
