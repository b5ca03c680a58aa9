#include "common/exit_text.h"

#include <string.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace accel::common {
namespace {

std::string SignalName(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? absl::StrCat("signal ", signal)
                         : absl::StrCat("SIG", name, " (", signal, ")");
}

// Appends the message without its full stop, because the text continues after it.
std::string WithMessage(absl::string_view text, const v1::ExitRecord& exit) {
  if (exit.message().empty()) return std::string(text);
  return absl::StrCat(text, ": ", absl::StripSuffix(exit.message(), "."));
}

}  // namespace

bool IsOfNode(const v1::ExitRecord& exit) {
  return exit.kind() == v1::ExitRecord::NODE_LOST || exit.kind() == v1::ExitRecord::PREEMPTED;
}

std::string DescribeExit(const v1::ExitRecord& exit) {
  switch (exit.kind()) {
    case v1::ExitRecord::EXITED:
      return WithMessage(absl::StrCat("exited with code ", exit.code()), exit);
    case v1::ExitRecord::SIGNALLED:
      return WithMessage(
          absl::StrCat(exit.out_of_memory() ? "ran out of memory and " : "", "was killed by ",
                       SignalName(exit.signal()), exit.core_dumped() ? " (core dumped)" : ""),
          exit);
    case v1::ExitRecord::NOT_STARTED:
      return WithMessage("could not be started", exit);
    case v1::ExitRecord::SHIM_DIED:
      return WithMessage("was ended because its shim died", exit);
    case v1::ExitRecord::NODE_LOST:
      return WithMessage("was lost", exit);
    case v1::ExitRecord::PREEMPTED:
      return WithMessage("was preempted", exit);
    case v1::ExitRecord::TIMED_OUT:
      return WithMessage("ran out of time", exit);
    case v1::ExitRecord::HUNG:
      return exit.message().empty() ? "has made no progress" : exit.message();
    default:
      return WithMessage("ended in a way that this version of accel does not know", exit);
  }
}

std::string DescribeFailure(const v1::FailureCause& cause) {
  const std::string& node = cause.node_name();
  const std::string exit = DescribeExit(cause.exit());
  if (cause.rank() >= 0) {
    return absl::StrCat("rank ", cause.rank(), node.empty() ? "" : " on node ", node, " ", exit);
  }
  if (node.empty()) return absl::StrCat("the job ", exit);
  if (IsOfNode(cause.exit())) return absl::StrCat("node ", node, " ", exit);
  return absl::StrCat("its part on node ", node, " ", exit);
}

std::string DescribeLater(const v1::LaterFailures& later) {
  std::string text = absl::StrCat(
      later.ranks(), later.ranks() == 1 ? " other rank failed" : " other ranks failed");
  if (later.within_ms() > 0) {
    absl::StrAppendFormat(&text, " within %.1f s",
                          std::max(0.1, static_cast<double>(later.within_ms()) / 1000));
  }
  const char* separator = ": ";
  int listed = 0;
  for (const v1::FailureKind& kind : later.kinds()) {
    absl::StrAppend(&text, separator, kind.ranks(), " ", DescribeExit(kind.exit()));
    separator = ", ";
    listed += kind.ranks();
  }
  if (listed > 0 && listed < later.ranks()) {
    absl::StrAppend(&text, separator, later.ranks() - listed, " otherwise");
  }
  return text;
}

}  // namespace accel::common
