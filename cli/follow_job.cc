#include "cli/follow_job.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "common/job_phase.h"

namespace accel::cli {
namespace {

constexpr absl::Duration kTryDeadline = absl::Seconds(5);
constexpr absl::Duration kFirstPause = absl::Milliseconds(20);
constexpr absl::Duration kLongestPause = absl::Seconds(1);

std::string NewSubmitId() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 4; ++i) absl::StrAppend(&id, absl::Hex(random(), absl::kZeroPad8));
  return id;
}

// Returns true if the coordinator may have carried out the request, or may do so later.
bool IsWorthARetry(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

// Waits between attempts, until `longest` has passed since the coordinator last answered. Reports
// the first failure of each outage.
class RetryDeadline {
 public:
  RetryDeadline(absl::Duration longest, CoordinatorClient& client, const Console& console)
      : longest_(longest),
        client_(client),
        console_(console),
        give_up_at_(common::SteadyClock()->Now() + longest) {}

  // Sleeps for the back-off, and then blocks until a connection to the coordinator is established.
  // Returns false if the time is over.
  bool Pause(const absl::Status& why) {
    if (left() <= absl::ZeroDuration()) return false;
    if (!reported_) {
      PrintMessage(console_, absl::StrCat(why.message(), "\naccel: trying again for ",
                                          absl::FormatDuration(longest_)));
    }
    reported_ = true;
    absl::SleepFor(std::min(backoff_.Next(), left()));
    client_.AwaitConnection(std::max(left(), absl::ZeroDuration()));
    return true;
  }

  void Renew() {
    if (reported_) PrintMessage(console_, "the coordinator is back");
    reported_ = false;
    backoff_.Reset();
    give_up_at_ = common::SteadyClock()->Now() + longest_;
  }

 private:
  absl::Duration left() const { return give_up_at_ - common::SteadyClock()->Now(); }

  const absl::Duration longest_;
  CoordinatorClient& client_;
  const Console& console_;
  absl::Time give_up_at_;
  common::Backoff backoff_{kFirstPause, kLongestPause};
  bool reported_ = false;
};

}  // namespace

absl::StatusOr<std::string> SubmitWithRetries(CoordinatorClient& client, const v1::JobSpec& spec,
                                              absl::Duration retry_for, const Console& console) {
  v1::SubmitJobRequest request;
  request.set_submit_id(NewSubmitId());
  *request.mutable_spec() = spec;
  RetryDeadline deadline(retry_for, client, console);
  while (true) {
    auto job_id = client.SubmitJob(request, kTryDeadline);
    if (job_id.ok() || !IsWorthARetry(job_id.status())) return job_id;
    if (!deadline.Pause(job_id.status())) return job_id;
  }
}

absl::StatusOr<v1::Job> WaitForEnd(CoordinatorClient& client, const std::string& job_id,
                                   absl::Duration retry_for, const Console& console) {
  v1::WatchJobRequest request;
  request.set_job_id(job_id);
  v1::Job job;
  RetryDeadline deadline(retry_for, client, console);
  while (true) {
    absl::Status watched = client.WatchJob(request, [&](const v1::Job& newer) {
      job = newer;
      deadline.Renew();
      request.set_known_version(newer.version());
      return !common::IsFinal(newer.phase());
    });
    if (common::IsFinal(job.phase())) return job;
    if (watched.ok()) watched = absl::UnavailableError("the coordinator closed the watch");
    if (!IsWorthARetry(watched)) return watched;
    if (!deadline.Pause(watched)) {
      return absl::UnavailableError(
          absl::StrCat(watched.message(), "\naccel: job ", job_id, " may still be running"));
    }
  }
}

}  // namespace accel::cli
