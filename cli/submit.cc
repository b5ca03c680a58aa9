#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/config/core/launch_plan.h"
#include "cli/config/load_config.h"
#include "cli/connect.h"
#include "cli/job_file.h"
#include "cli/job_spec.h"
#include "cli/print_plan.h"
#include "cli/send_upload.h"
#include "cli/submit_and_wait.h"
#include "cli/submit_config.h"
#include "cli/submit_flags.h"
#include "common/status_macros.h"
#include "upload/local_tree.h"

namespace accel::cli {
namespace {

// Returns the tree that --upload names, or null without that flag.
absl::StatusOr<std::unique_ptr<upload::LocalTree>> TreeFrom(const SubmitFlags& flags) {
  if (flags.upload.empty()) return nullptr;
  ACCEL_ASSIGN_OR_RETURN(upload::LocalTree tree, upload::ListTree(flags.upload));
  return std::make_unique<upload::LocalTree>(std::move(tree));
}

absl::StatusOr<v1::JobSpec> SpecFrom(const SubmitFlags& flags, const upload::LocalTree* tree) {
  ACCEL_ASSIGN_OR_RETURN(const CallerContext context, RealCallerContext());
  return MakeSubmitSpec(flags, context, tree);
}

// Sends the tree, if there is one, and the job, in which it is named.
int Send(const SubmitFlags& flags, upload::LocalTree* tree, v1::JobSpec spec,
         const Console& console) {
  const auto client = ConnectToCoordinator(flags.connection);
  if (!client.ok()) return Fail(console, client.status());
  if (tree != nullptr) {
    const absl::Status hashed = upload::HashTree(tree);
    if (!hashed.ok()) return Fail(console, hashed);
    auto name = SendUpload(**client, *tree, console);
    if (!name.ok()) return Fail(console, name.status());
    spec.set_upload(*std::move(name));
  }
  return SubmitAndWait(**client, spec, {.wait = flags.wait, .json = flags.json}, console);
}

// Reads the job file that `first` names. Returns the arguments that mean the same.
absl::StatusOr<std::vector<std::string>> ReadJobFile(const std::vector<std::string>& args,
                                                     const SubmitFlags& first) {
  const std::vector<std::string>& words = first.job.program.words;
  ACCEL_ASSIGN_OR_RETURN(const std::string text, ReadConfigText(words[0], "job file"));
  SubmitFlags scratch;
  FlagSet check = MakeSubmitFlagSet(&scratch);
  return ExpandJobFile(args, words.size(), text, check);
}

// Returns what is known about the job's processes before the coordinator chooses nodes.
LaunchPlan PlanOf(const v1::JobSpec& spec) {
  LaunchPlan plan;
  plan.num_machines = spec.nodes();
  plan.processes.assign(spec.processes_per_node().begin(), spec.processes_per_node().end());
  // One number is that of each node.
  if (plan.processes.size() == 1) plan.processes.resize(spec.nodes(), plan.processes[0]);
  plan.cpu = spec.cpu();
  plan.gpu_ids.assign(spec.gpu_ids().begin(), spec.gpu_ids().end());
  plan.mixed_precision = spec.mixed_precision();
  plan.debug = spec.debug();
  plan.max_restarts = spec.max_restarts();
  return plan;
}

void PrintDryRun(const v1::JobSpec& spec, bool json, const Console& console) {
  PrintPlan(PlanOf(spec), spec, json, console);
  if (spec.min_nodes() > 0) {
    PrintMessage(console, absl::StrCat("the job runs on ", spec.min_nodes(), " to ", spec.nodes(),
                                       " nodes; this is the plan for ", spec.nodes()));
  }
}

// Reads the flags again, on top of the file that --config_file names.
absl::StatusOr<SubmitFlags> ReadConfiguration(const std::vector<std::string>& args,
                                              const std::string& config_file,
                                              const Console& console) {
  ACCEL_ASSIGN_OR_RETURN(const CallerContext context, RealCallerContext());
  ACCEL_ASSIGN_OR_RETURN(ConfiguredSubmit read, ReadOnTopOfConfig(args, config_file, context));
  for (const std::string& note : read.notes) PrintMessage(console, note);
  return std::move(read.flags);
}

bool NamesJobFile(const ProgramRequest& program) {
  return !program.words.empty() && !program.module && !program.no_python &&
         IsJobFile(program.words[0]);
}

// Returns the flags of the command line, of its job file and of its configuration file. `place` is
// where a contradiction between flags comes from, for messages.
absl::StatusOr<SubmitFlags> ReadFiles(std::vector<std::string> args, SubmitFlags flags,
                                      std::string* place, const Console& console) {
  if (NamesJobFile(flags.job.program)) {
    *place = absl::StrCat(flags.job.program.words[0], ": ");
    ACCEL_ASSIGN_OR_RETURN(args, ReadJobFile(args, flags));
    flags = SubmitFlags();
    ACCEL_RETURN_IF_ERROR(MakeSubmitFlagSet(&flags).Parse(args));
  }
  if (flags.config_file.empty()) return flags;
  return ReadConfiguration(args, flags.config_file, console);
}

}  // namespace

int RunSubmit(const std::vector<std::string>& args, const Console& console) {
  SubmitFlags first;
  FlagSet flag_set = MakeSubmitFlagSet(&first);
  if (const auto over = ParseOrExplain(flag_set, args, console)) return *over;
  std::string place;
  const auto read = ReadFiles(args, first, &place, console);
  if (!read.ok()) return Fail(console, read.status());
  const SubmitFlags& flags = *read;
  auto tree = TreeFrom(flags);
  if (!tree.ok()) return Fail(console, tree.status());
  auto spec = SpecFrom(flags, tree->get());
  if (!spec.ok()) {
    const absl::Status& status = spec.status();
    return Fail(console, absl::Status(status.code(), absl::StrCat(place, status.message())));
  }
  if (flags.dry_run) {
    PrintDryRun(*spec, flags.json, console);
    return kExitOk;
  }
  return Send(flags, tree->get(), *std::move(spec), console);
}

}  // namespace accel::cli
