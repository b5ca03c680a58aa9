// Job files, as `accel submit job.yaml` reads them.
#include "cli/job_file.h"
#include "cli/submit_flags.h"
#include "common/check.h"
#include "tests/fuzz/refusal.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(bytes) {
  accel::cli::SubmitFlags scratch, flags;
  accel::cli::FlagSet check = accel::cli::MakeSubmitFlagSet(&scratch);
  const auto expanded =
      accel::cli::ExpandJobFile({"--nodes=2", "job.yaml", "last"}, 2, bytes, check);
  if (!expanded.ok()) return accel::fuzz::CheckRefusal(expanded.status());
  const absl::Status parsed = accel::cli::MakeSubmitFlagSet(&flags).Parse(*expanded);
  ACCEL_CHECK(parsed.ok(), "what a job file expands to is a valid command line");
  ACCEL_CHECK(!flags.job.program.words.empty() && flags.job.program.words.back() == "last",
              "the words after the file are arguments of its program");
  const absl::Status checked = accel::cli::CheckSubmitFlags(flags);
  if (!checked.ok()) accel::fuzz::CheckRefusal(checked);
}
