#include "coordinator/core/failure_history.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace accel::coordinator {
namespace {

constexpr size_t kMaxSignatureBytes = 200;

void DropBefore(absl::Time oldest, std::vector<absl::Time>* times) {
  times->erase(std::remove_if(times->begin(), times->end(),
                              [oldest](absl::Time time) { return time < oldest; }),
               times->end());
}

}  // namespace

void NoteFailure(const Failure& failure, absl::Duration window, absl::Time now,
                 FailureHistory* history) {
  if (window > absl::ZeroDuration()) {
    DropBefore(now - window, &history->failures);
    history->failures.push_back(now);
  }
  history->quick = failure.quick ? history->quick + 1 : 1;
  const bool alike = failure.quick && failure.signature == history->signature;
  history->alike = alike ? history->alike + 1 : 1;
  history->signature = failure.signature;
  const bool blames = failure.has_peers && !failure.node.empty();
  const bool same_node = blames && failure.node == history->blamed_node;
  history->blamed = same_node ? history->blamed + 1 : blames ? 1 : 0;
  history->blamed_node = blames ? failure.node : common::NodeId();
}

void NoteMembershipChange(absl::Duration window, absl::Time now, FailureHistory* history) {
  DropBefore(now - window, &history->membership_changes);
  history->membership_changes.push_back(now);
}

int CountWithin(const std::vector<absl::Time>& times, absl::Duration window, absl::Time now) {
  return static_cast<int>(std::count_if(times.begin(), times.end(),
                                        [&](absl::Time time) { return time >= now - window; }));
}

std::string SignatureOf(const v1::FailureCause& cause) {
  const v1::ExitRecord& exit = cause.exit();
  const std::string line =
      cause.last_lines().empty() ? exit.message() : *cause.last_lines().rbegin();
  std::string signature = absl::StrCat(exit.kind(), " ", exit.code(), " ", exit.signal(), " ");
  for (const char c : line) {
    if (signature.size() >= kMaxSignatureBytes) break;
    // Bytes beyond ASCII are left out too, so that the text is valid UTF-8 wherever it is cut.
    if (!absl::ascii_isdigit(c) && absl::ascii_isprint(c)) signature.push_back(c);
  }
  return signature;
}

}  // namespace accel::coordinator
