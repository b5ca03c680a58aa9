#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/job_spec.h"
#include "cli/submit_and_wait.h"
#include "cli/submit_flags.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

absl::StatusOr<v1::JobSpec> SpecFrom(const SubmitFlags& flags) {
  ACCEL_ASSIGN_OR_RETURN(const CallerContext context, RealCallerContext());
  return MakeSubmitSpec(flags, context);
}

}  // namespace

int RunSubmit(const std::vector<std::string>& args, const Console& console) {
  SubmitFlags flags;
  FlagSet flag_set = MakeSubmitFlagSet(&flags);
  if (const auto over = ParseOrExplain(flag_set, args, console)) return *over;
  const auto spec = SpecFrom(flags);
  if (!spec.ok()) return Fail(console, spec.status());
  const auto client = ConnectToCoordinator(flags.connection);
  if (!client.ok()) return Fail(console, client.status());
  return SubmitAndWait(**client, *spec, {.wait = flags.wait, .json = flags.json}, console);
}

}  // namespace accel::cli
