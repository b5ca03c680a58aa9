#include "tests/simulation/job_invariants.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/job_phase.h"

namespace accel::simulation {
namespace {

// Maximum time until a decision is published: the longest pause after a commit that failed, and a
// few slow commits.
constexpr absl::Duration kPublishes = absl::Seconds(10);

absl::Status Broken(const v1::Job& job, absl::string_view what) {
  return absl::FailedPreconditionError(absl::StrCat("job ", job.job_id(), " ", what));
}

const v1::GenerationRecord* Find(const v1::Job& job, int generation) {
  for (const v1::GenerationRecord& record : job.generations()) {
    if (record.generation() == generation) return &record;
  }
  return nullptr;
}

std::string PlanOf(const v1::GenerationRecord& record) {
  std::string plan = absl::StrCat(record.master_addr(), ":", record.master_port());
  for (const v1::Placement& placement : record.placements()) {
    absl::StrAppend(&plan, "; ", placement.ShortDebugString());
  }
  return plan;
}

}  // namespace

absl::Status CheckChange(const v1::Job& before, const v1::Job& after) {
  if (after.version() < before.version()) {
    return Broken(after,
                  absl::StrCat("had version ", before.version(), " and has ", after.version()));
  }
  if (common::IsFinal(before.phase()) && before.phase() != after.phase()) {
    return Broken(after, absl::StrCat("was ", v1::JobPhase_Name(before.phase()), " and is ",
                                      v1::JobPhase_Name(after.phase())));
  }
  if (after.failures() < before.failures() || after.replans() < before.replans()) {
    return Broken(after,
                  absl::StrCat("had ", before.failures(), " failures and ", before.replans(),
                               " replans, and has ", after.failures(), " and ", after.replans()));
  }
  for (const v1::GenerationRecord& record : before.generations()) {
    const v1::GenerationRecord* now = Find(after, record.generation());
    if (now == nullptr && after.generations_size() >= before.generations_size()) continue;
    if (now != nullptr && PlanOf(*now) == PlanOf(record)) continue;
    return Broken(
        after, absl::StrCat("has another plan for generation ", record.generation(), ": ",
                            PlanOf(record), ", and now ", now == nullptr ? "none" : PlanOf(*now)));
  }
  return absl::OkStatus();
}

absl::Status CheckCancelled(const v1::Job& job, absl::Time told) {
  for (const v1::GenerationRecord& record : job.generations()) {
    if (absl::FromUnixMillis(record.started_unix_ms()) <= told) continue;
    return Broken(job, absl::StrCat("was cancelled before its generation ", record.generation(),
                                    " was placed"));
  }
  return absl::OkStatus();
}

absl::Status CheckTimeLimit(const v1::Job& job, absl::Time publishes_since, absl::Time now) {
  const bool waits_or_runs = job.phase() == v1::PENDING || job.phase() == v1::STARTING ||
                             job.phase() == v1::RUNNING || job.phase() == v1::RESTARTING;
  const v1::GenerationRecord* first = Find(job, 1);
  if (!waits_or_runs || job.spec().time_limit_ms() == 0 || first == nullptr) {
    return absl::OkStatus();
  }
  const absl::Time end = absl::FromUnixMillis(first->started_unix_ms()) +
                         absl::Milliseconds(job.spec().time_limit_ms());
  if (now <= std::max(end, publishes_since) + kPublishes) return absl::OkStatus();
  return Broken(job, absl::StrCat("is ", v1::JobPhase_Name(job.phase()),
                                  " although its time limit ended at ", absl::FormatTime(end)));
}

}  // namespace accel::simulation
