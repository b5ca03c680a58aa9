#include "cli/follow_job.h"

#include <functional>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/render/phase_text.h"
#include "cli/retry_deadline.h"

namespace accel::cli {
namespace {

constexpr absl::Duration kTryDeadline = absl::Seconds(5);

std::string NewSubmitId() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 4; ++i) absl::StrAppend(&id, absl::Hex(random(), absl::kZeroPad8));
  return id;
}

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

absl::StatusOr<v1::Job> WaitForJob(CoordinatorClient& client, const std::string& job_id,
                                   const std::function<bool(const v1::Job&)>& has_come,
                                   absl::Duration retry_for, const Console& console) {
  v1::WatchJobRequest request;
  request.set_job_id(job_id);
  v1::Job job;
  bool come = false;
  RetryDeadline deadline(retry_for, client, console);
  while (true) {
    absl::Status watched = client.WatchJob(
        request, [&] { deadline.Open(); },
        [&](const v1::Job& newer) {
          deadline.Renew();
          job = newer;
          request.set_known_version(newer.version());
          come = HasEnded(newer) || has_come(newer);
          return !come;
        });
    if (come) return job;
    if (watched.ok()) watched = absl::UnavailableError("the coordinator closed the watch");
    if (!IsWorthARetry(watched)) return watched;
    if (!deadline.Pause(watched)) {
      return absl::UnavailableError(
          absl::StrCat(watched.message(), "\naccel: job ", job_id, " may still be running"));
    }
  }
}

absl::StatusOr<v1::Job> WaitForEnd(CoordinatorClient& client, const std::string& job_id,
                                   absl::Duration retry_for, const Console& console) {
  return WaitForJob(
      client, job_id, [](const v1::Job&) { return false; }, retry_for, console);
}

}  // namespace accel::cli
