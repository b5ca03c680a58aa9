#include "cli/render/end_message.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "cli/render/escape.h"
#include "cli/render/first_cause.h"
#include "cli/render/phase_text.h"
#include "common/exit_text.h"

namespace accel::cli {
namespace {

// Returns `job a0x2k9fq, "mnist"`. `after` closes the apposition if the sentence continues.
std::string NameJob(const v1::Job& job, absl::string_view after = "") {
  const std::string id = absl::StrCat("job ", EscapeControls(job.job_id()));
  if (job.spec().name().empty()) return id;
  return absl::StrCat(id, ", \"", EscapeControls(job.spec().name()), "\"", after);
}

}  // namespace

std::string EndMessage(const v1::Job& job) {
  if (job.phase() == v1::SUCCEEDED) return "";
  if (job.phase() == v1::CANCELLED) return absl::StrCat(NameJob(job, ","), " was cancelled");
  if (!v1::JobPhase_IsValid(job.phase())) {
    return absl::StrCat(NameJob(job, ","), " ended in ", PhaseText(job.phase()),
                        ", which this version of accel does not know");
  }
  if (!job.has_cause()) {
    return job.reason().empty()
               ? absl::StrCat(NameJob(job, ","), " failed")
               : absl::StrCat(NameJob(job, ","), " failed: ", EscapeControls(job.reason()));
  }
  const v1::FailureCause& cause = job.cause();
  const std::string failure = common::DescribeFailure(cause);
  // In generation 0 the job was never placed.
  const std::string generation =
      cause.generation() == 0 ? "" : absl::StrCat("generation ", cause.generation(), " of ");
  std::string message = absl::StrCat(EscapeControls(absl::StripSuffix(failure, ".")), " (",
                                     generation, NameJob(job), ")");
  if (cause.later().ranks() > 0) {
    absl::StrAppend(&message, "\nafter it, ", EscapeControls(common::DescribeLater(cause.later())));
  }
  if (!cause.last_lines().empty()) absl::StrAppend(&message, "\nits last lines:");
  for (const std::string& line : cause.last_lines()) {
    absl::StrAppend(&message, "\n  | ", EscapeControls(line));
  }
  if (const v1::FailureCause* first = FirstOtherCause(job); first != nullptr) {
    absl::StrAppend(&message, "\nit began with another failure: ",
                    EscapeControls(absl::StripSuffix(common::DescribeFailure(*first), ".")),
                    " (generation ", first->generation(), ")");
  }
  return message;
}

}  // namespace accel::cli
