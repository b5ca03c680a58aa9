#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/config/load_config.h"
#include "cli/connect.h"
#include "cli/job_file.h"
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

// Reads the job file that `first` names, and the flags again, now with those of the file.
absl::StatusOr<SubmitFlags> ReadJobFile(const std::vector<std::string>& args,
                                        const SubmitFlags& first) {
  const std::vector<std::string>& words = first.job.program.words;
  ACCEL_ASSIGN_OR_RETURN(const std::string text, ReadConfigText(words[0], "job file"));
  SubmitFlags scratch, flags;
  FlagSet check = MakeSubmitFlagSet(&scratch);
  ACCEL_ASSIGN_OR_RETURN(const auto expanded, ExpandJobFile(args, words.size(), text, check));
  ACCEL_RETURN_IF_ERROR(MakeSubmitFlagSet(&flags).Parse(expanded));
  return flags;
}

bool NamesJobFile(const ProgramRequest& program) {
  return !program.words.empty() && !program.module && !program.no_python &&
         IsJobFile(program.words[0]);
}

}  // namespace

int RunSubmit(const std::vector<std::string>& args, const Console& console) {
  SubmitFlags flags;
  FlagSet flag_set = MakeSubmitFlagSet(&flags);
  if (const auto over = ParseOrExplain(flag_set, args, console)) return *over;
  std::string place;  // The file that a contradiction between flags comes from.
  if (NamesJobFile(flags.job.program)) {
    place = absl::StrCat(flags.job.program.words[0], ": ");
    auto read = ReadJobFile(args, flags);
    if (!read.ok()) return Fail(console, read.status());
    flags = *std::move(read);
  }
  const auto spec = SpecFrom(flags);
  if (!spec.ok()) {
    const absl::Status& status = spec.status();
    return Fail(console, absl::Status(status.code(), absl::StrCat(place, status.message())));
  }
  const auto client = ConnectToCoordinator(flags.connection);
  if (!client.ok()) return Fail(console, client.status());
  return SubmitAndWait(**client, *spec, {.wait = flags.wait, .json = flags.json}, console);
}

}  // namespace accel::cli
