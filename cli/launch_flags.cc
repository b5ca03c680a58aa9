#include "cli/launch_flags.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/config/setting_flags.h"

namespace accel::cli {

void AddLaunchFlags(FlagSet* flags, LaunchFlags* to) {
  flags->Text(
      "config_file", "FILE",
      "read the settings from this file (default: default_config.yaml in the cache of "
      "Accelerate, or else default_config.json there, if one exists; `accel config explain` "
      "names it)",
      &to->config_file);
  AddLaunchSettingFlags(flags, &to->settings);
  AddProgramFlags(flags, &to->job);
  flags->Switch("dry_run", "print the plan (nodes, ranks, commands, variables) and start nothing",
                &to->dry_run);
  flags->Switch("json", "with --dry_run: print JSON (docs/json.md)", &to->json);
  flags->Text("end_file", "FILE", "write the finished job there as JSON (docs/json.md)",
              &to->end_file);
  flags->Int("parent", "PID", "end the job when this process, which is the parent of accel, ends",
             &to->parent);
  flags->Text("shim", "PATH", "path of accel-shim (default: ACCEL_SHIM, then the folder of accel)",
              &to->shim);
  AddOtherSettingFlags(flags, &to->settings);
}

FlagSet MakeLaunchFlagSet(LaunchFlags* to) {
  FlagSet flags("accel launch", "[flags] PROGRAM [args…]",
                "Runs PROGRAM on this machine, in the foreground, as one process or several that "
                "form one world. PROGRAM is an executable or a .py file; the words after it are "
                "PROGRAM's arguments. The flags are those of `accelerate launch`; `accel config` "
                "writes their values into a file.");
  AddLaunchFlags(&flags, to);
  flags.Footer(
      "Ctrl-C, SIGTERM and SIGHUP end the job: its processes get SIGTERM, and SIGKILL after a "
      "grace period of 30 s. A second Ctrl-C kills them immediately. A single process on a "
      "terminal owns it, as a debugger needs: Ctrl-C then reaches only that process.\n\n"
      "Exit codes:\n"
      "  0     every process exited with 0\n"
      "  N     exit code of the first process that failed in the last generation\n"
      "  128+N that process was killed by signal N\n"
      "  126   PROGRAM cannot be executed\n"
      "  127   PROGRAM does not exist\n"
      "  141   the reader of the output is gone\n"
      "  2     wrong usage of accel\n"
      "  1     any other error of accel\n"
      "docs/exit-codes.md has them all.");
  return flags;
}

absl::Status CheckLaunchFlags(const LaunchFlags& flags) {
  if (flags.json && !flags.dry_run) {
    return absl::InvalidArgumentError(
        "--json prints the plan of --dry_run; a launch prints what its workers print");
  }
  const std::vector<std::string>& words = flags.job.program.words;
  if (words.size() < 2 || !ParseTruth(words[0]).has_value()) return absl::OkStatus();
  // There are programs named true and false, but their arguments are no programs.
  const bool is_program = absl::EndsWith(words[1], ".py") || absl::StrContains(words[1], '/');
  if (!is_program) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the program is \"", words[0],
                   "\": a switch takes no word after it; write --NAME=", words[0]));
}

}  // namespace accel::cli
