#include "coordinator/core/node_health.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace accel::coordinator {
namespace {

constexpr int kMaxFailedStarts = 3;
constexpr absl::Duration kFirstExclusion = absl::Seconds(10);
constexpr absl::Duration kLongestExclusion = absl::Minutes(5);
constexpr size_t kMaxReasonBytes = 256;

// Cuts between characters, because the reason becomes a protobuf string, which must be valid UTF-8.
std::string Bounded(absl::string_view text) {
  text = absl::StripSuffix(text, ".");
  if (text.size() <= kMaxReasonBytes) return std::string(text);
  size_t size = kMaxReasonBytes;
  while (size > 0 && (text[size] & 0xC0) == 0x80) --size;
  return absl::StrCat(text.substr(0, size), "...");
}

absl::Duration Exclusion(int before) {
  absl::Duration exclusion = kFirstExclusion;
  for (int i = 0; i < before && exclusion < kLongestExclusion; ++i) exclusion *= 2;
  return std::min(exclusion, kLongestExclusion);
}

}  // namespace

void NoteFailedStart(const common::JobId& job, absl::string_view reason, absl::Time now,
                     NodeHealth* health) {
  health->several_jobs |= health->failed_starts > 0 && health->newest_job != job;
  ++health->failed_starts;
  health->newest_job = job;
  health->newest_reason = Bounded(reason);
  if (health->failed_starts < kMaxFailedStarts || !health->several_jobs) return;
  health->blamed = 0;
  // Starts that were in progress together may fail one after the other. They have one cause, so
  // only the first failure lengthens the exclusion.
  if (IsExcluded(*health, now)) return;
  health->excluded_until = now + Exclusion(health->exclusions);
  ++health->exclusions;
}

void NoteBlame(const common::JobId& job, int failures, absl::Time now, NodeHealth* health) {
  if (IsExcluded(*health, now)) return;
  health->newest_job = job;
  health->blamed = failures;
  health->excluded_until = now + Exclusion(health->exclusions);
  ++health->exclusions;
}

bool IsExcluded(const NodeHealth& health, absl::Time now) { return now < health.excluded_until; }

bool IsOnTrial(const NodeHealth& health) { return health.exclusions > 0; }

std::string WhyExcluded(const NodeHealth& health) {
  if (health.blamed > 0) {
    return absl::StrCat("the last ", health.blamed, " failures of job ", health.newest_job.value(),
                        " all began here");
  }
  return absl::StrCat("its last ", health.failed_starts, " starts failed, the newest, of job ",
                      health.newest_job.value(), ", because: ", health.newest_reason);
}

}  // namespace accel::coordinator
