#include "coordinator/core/wording.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/exit_text.h"

namespace accel::coordinator {

std::string NameNodes(const std::vector<std::string>& names) {
  if (static_cast<int>(names.size()) > kMaxNames)
    return absl::StrCat("more than ", kMaxNames, " nodes");
  return absl::StrCat(names.size() == 1 ? "node " : "nodes ", absl::StrJoin(names, ", "));
}

std::string NameNodes(const google::protobuf::RepeatedPtrField<v1::Placement>& placements) {
  std::vector<std::string> names;
  for (const v1::Placement& placement : placements) {
    if (static_cast<int>(names.size()) > kMaxNames) break;
    names.push_back(placement.node_name());
  }
  return NameNodes(names);
}

std::string DescribeWorld(const google::protobuf::RepeatedPtrField<v1::Placement>& placements) {
  int processes = 0;
  for (const v1::Placement& placement : placements) processes += placement.processes();
  return absl::StrCat(processes, processes == 1 ? " process on " : " processes on ",
                      placements.size() > kMaxNames ? absl::StrCat(placements.size(), " nodes")
                                                    : NameNodes(placements));
}

std::string DescribeFailureFirst(const v1::FailureCause& cause) {
  std::string text = common::DescribeFailure(cause);
  text[0] = absl::ascii_toupper(text[0]);
  if (!cause.note().empty()) absl::StrAppend(&text, "; ", cause.note());
  return text;
}

std::string DescribeRestart(const v1::Job& job, absl::Duration pause) {
  if (common::IsOfNode(job.cause().exit()) && job.membership_changes() > 0) {
    return absl::StrCat(DescribeFailureFirst(job.cause()),
                        "; starting again, which spends no restart.");
  }
  const std::string which =
      job.start_failures() > 0
          ? absl::StrCat("try ", job.start_failures() + 1, ", on another node if there is one,")
          : absl::StrCat("restart ", job.failures(), " of ", job.spec().max_restarts());
  const std::string when = pause > absl::ZeroDuration()
                               ? absl::StrCat(" after a pause of ", absl::FormatDuration(pause))
                           : job.start_failures() > 0 ? " immediately"
                                                      : "";
  return absl::StrCat(DescribeFailureFirst(job.cause()), "; ", which, when, ".");
}

std::string WhyStopping(const v1::Job& job, v1::AfterStop next) {
  if (next == v1::TO_SUCCEEDED) return "All ranks have exited with code 0";
  if (next == v1::TO_CANCELLED) return "Cancelled";
  if (job.has_cause()) return DescribeFailureFirst(job.cause());
  return job.stopping_for();
}

}  // namespace accel::coordinator
