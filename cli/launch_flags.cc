#include "cli/launch_flags.h"

#include "common/status_macros.h"

namespace accel::cli {

FlagSet MakeLaunchFlagSet(LaunchFlags* to) {
  FlagSet flags("accel launch", "[flags] PROGRAM [args…]",
                "Runs PROGRAM on this machine, in the foreground, as one process or several that "
                "form one world. PROGRAM is an executable or a .py file; the words "
                "after it are PROGRAM's arguments.");
  flags.Int("num_processes", "N", "number of processes (default: one per GPU, or one)",
            &to->num_processes, 1, 1024);
  AddJobFlags(&flags, &to->job);
  flags.Text("log_dir", "DIR", "keep each rank's output below this directory", &to->log_dir);
  flags.Text("shim", "PATH", "path of accel-shim (default: ACCEL_SHIM, then the folder of accel)",
             &to->shim);
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

absl::Status CheckLaunchFlags(const LaunchFlags& flags) { return CheckJobFlags(flags.job); }

}  // namespace accel::cli
