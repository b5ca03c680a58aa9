#include "cli/submit_flags.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

constexpr char kFooter[] =
    "A relative PROGRAM is resolved in the current directory, even with --workdir. PATH, "
    "VIRTUAL_ENV, CONDA_PREFIX, PYTHONPATH and LD_LIBRARY_PATH are sent with the job. Paths must "
    "exist on the nodes; they need not exist here.\n\n"
    "With --upload, a file that the coordinator has already is not sent again. .git, __pycache__ "
    "and virtual environments are left out, and so is what .accelignore in the folder names, with "
    "the rules of .gitignore. At most 2 GiB in 20,000 files. The copy is removed from the nodes "
    "with the output of the job.\n\n"
    "With --wait, Ctrl-C and SIGTERM cancel the job; a second one kills it immediately; a third "
    "one leaves it alone and exits. SIGHUP ends only accel: the job continues.\n\n"
    "Exit codes without --wait:\n"
    "  0     the job was accepted\n"
    "  2     wrong usage, or the coordinator refused the job\n"
    "  1     any other error: no answer from the coordinator, a refused certificate…\n"
    "Exit codes with --wait, in addition to these:\n"
    "  0     the job succeeded\n"
    "  N     exit code of the first process that failed in the last generation\n"
    "  128+N that process was killed by signal N; 143: the job was cancelled\n"
    "  124   the job ran into its time limit\n"
    "  126   PROGRAM cannot be executed on a node\n"
    "  127   PROGRAM, script or working directory does not exist on a node\n"
    "docs/exit-codes.md has them all.";

// Adds the flags for where and as whom the workers start.
void AddPlaceFlags(FlagSet* flags, SubmitFlags* to) {
  flags->Text("workdir", "DIR", "working directory of the workers (default: the current directory)",
              &to->workdir);
  flags->Text(
      "upload", "PATH",
      "send this folder, or this file, to the nodes; the workers start in a copy of it, and "
      "PROGRAM is resolved in it",
      &to->upload);
  flags->Text(
      "runs_as", "ACCOUNT",
      "Unix account of the job's processes; only administrators may name another than their "
      "own (default: that of the user who submits)",
      &to->runs_as);
}

// Adds the flags for what the command prints and whether it waits.
void AddOutputFlags(FlagSet* flags, SubmitFlags* to) {
  flags->Switch("wait", "wait until the job ends, and exit with its exit code", &to->wait);
  flags->Switch("dry_run",
                "print nodes, command and variables, as far as they are known before nodes are "
                "chosen; submit nothing and need no coordinator",
                &to->dry_run);
  flags->Switch(
      "json",
      "print {\"job_id\": …} on one line; with --wait, print the finished job on a second "
      "line; with --dry_run, print the plan as JSON",
      &to->json);
}

}  // namespace

FlagSet MakeSubmitFlagSet(SubmitFlags* to) {
  FlagSet flags(
      "accel submit", "[flags] [--] PROGRAM [args…]",
      "Submits a job to the coordinator and prints the job's id as soon as it is accepted. "
      "PROGRAM is an executable or a .py file; the words after it are PROGRAM's "
      "arguments. A .yaml or .json file as PROGRAM is a job file: its keys are these flags, "
      "program and args.");
  flags.Value("nodes", "N|MIN:MAX",
              "number of nodes (default: 1); with MIN:MAX, the job runs on as many of MAX nodes as "
              "there are, at least MIN, and is started again when nodes are lost or join",
              [to](const std::string& value) -> absl::Status {
                ACCEL_ASSIGN_OR_RETURN(to->nodes, ParseNodes(value));
                return absl::OkStatus();
              });
  flags.Value("processes_per_node", "K|K,L,…|auto",
              "number of processes on each node, or on the first, the second… (default: auto, one "
              "per GPU, or one)",
              [to](const std::string& value) -> absl::Status {
                ACCEL_ASSIGN_OR_RETURN(to->processes_per_node, ParseProcessesPerNode(value));
                return absl::OkStatus();
              });
  flags.Text("config_file", "FILE",
             "take the settings of an Accelerate configuration file, such as those of FSDP or "
             "DeepSpeed; these flags win (default: no file)",
             &to->config_file);
  flags.Text("name", "NAME", "name of the job (default: the program's name)", &to->name);
  AddPlaceFlags(&flags, to);
  flags.Value("time_limit", "TIME",
              "end the job this long after its first start: 90 (seconds), 15m, 2h, 1d, 1:30:00",
              [to](const std::string& value) -> absl::Status {
                ACCEL_ASSIGN_OR_RETURN(to->time_limit, ParseTimeLimit(value));
                return absl::OkStatus();
              });
  flags.Value(
      "on_agent_loss", "keep|end",
      "what happens to the processes on a node whose agent is gone: they continue and the next "
      "agent adopts them, or they are stopped (default: keep)",
      [to](const std::string& value) -> absl::Status {
        to->keep = value == "keep";
        if (to->keep || value == "end") return absl::OkStatus();
        return absl::InvalidArgumentError("it must be keep or end");
      });
  flags.Value("stop_on_disconnect_after", "TIME",
              "stop the processes on a node that has had no contact with the coordinator for this "
              "long, at least 5 seconds (default: never)",
              [to](const std::string& value) -> absl::Status {
                ACCEL_ASSIGN_OR_RETURN(to->stop_on_disconnect_after, ParseTimeLimit(value));
                return absl::OkStatus();
              });
  AddJobFlags(&flags, &to->job);
  AddOutputFlags(&flags, to);
  AddConnectionFlags(&flags, &to->connection);
  flags.Footer(kFooter);
  return flags;
}

absl::Status CheckSubmitFlags(const SubmitFlags& flags) {
  ACCEL_RETURN_IF_ERROR(CheckJobFlags(flags.job));
  if (!flags.upload.empty() && !flags.workdir.empty()) {
    return absl::InvalidArgumentError(
        "`--upload` and `--workdir` cannot be used together: the workers start in the upload");
  }
  const int entries = static_cast<int>(flags.processes_per_node.size());
  const NodeRange& nodes = flags.nodes;
  if (entries > 1 && nodes.min < nodes.max) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--processes_per_node has ", entries, " entries, and --nodes ", nodes.min, ":", nodes.max,
        " does not say how many nodes there will be; give one number for each of them"));
  }
  if (entries > 1 && entries != nodes.max) {
    return absl::InvalidArgumentError(
        absl::StrCat("--processes_per_node has ", entries, " entries for ", nodes.max,
                     nodes.max == 1 ? " node" : " nodes", "; give one, or one for each node"));
  }
  return absl::OkStatus();
}

}  // namespace accel::cli
