#include "shim/hang_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "process/thread_states.h"

namespace accel::shim {
namespace {

constexpr absl::string_view kPrefix = "accel: ";
// The prefixes and newlines of the lines, and the first and the last line.
constexpr size_t kReserveBytes = 4 << 10;

std::string Condition(const Hang& hang) {
  switch (hang.state) {
    case 'T':
      return "a signal has stopped it";
    case 't':
      return "a debugger has stopped it";
    case 'D':
      return "it is in a wait that no signal ends (state D)";
    default:
      break;
  }
  if (hang.waits) return "it waits for other ranks";
  return hang.state == 'R' ? "it is running" : "it is sleeping";
}

}  // namespace

ExitFact HungFact(const Hang& hang, absl::Time now, absl::Time wall) {
  const absl::Duration silence = absl::Floor(hang.silence, absl::Seconds(1));
  const std::string last =
      hang.last_beat
          ? absl::StrCat("its last step ended at ",
                         absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", wall - (now - *hang.last_beat),
                                          absl::UTCTimeZone()))
          : "it has reported no step";
  ExitFact fact;
  fact.kind = ExitFact::Kind::kHung;
  fact.message = absl::StrCat("has made no progress for ", absl::FormatDuration(silence), " (",
                              last, "; ", Condition(hang), ")");
  return fact;
}

std::string HangRecord(const std::string& why, pid_t pid) {
  std::string text = absl::StrCat(kPrefix, why, "\n");
  const size_t most = kMaxHangRecordBytes - kReserveBytes;
  for (const std::string& line : process::DescribeThreads(pid, most)) {
    if (text.size() + line.size() + kPrefix.size() + 1 > kMaxHangRecordBytes) break;
    absl::StrAppend(&text, kPrefix, line, "\n");
  }
  return text;
}

}  // namespace accel::shim
