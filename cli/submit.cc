#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/config/core/launch_plan.h"
#include "cli/config/load_config.h"
#include "cli/config/render_plan.h"
#include "cli/connect.h"
#include "cli/job_file.h"
#include "cli/job_spec.h"
#include "cli/send_upload.h"
#include "cli/submit_and_wait.h"
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

void PrintPlan(const v1::JobSpec& spec, bool json, const Console& console) {
  common::EnvList env;
  for (const v1::EnvVar& variable : spec.env()) env.emplace_back(variable.name(), variable.value());
  const std::vector<std::string> command(spec.argv().begin(), spec.argv().end());
  const LaunchPlan plan = PlanOf(spec);
  console.out << (json ? RenderPlanAsJson(plan, command, env) + "\n"
                       : RenderPlan(plan, command, env));
  if (spec.min_nodes() > 0) {
    PrintMessage(console, absl::StrCat("the job runs on ", spec.min_nodes(), " to ", spec.nodes(),
                                       " nodes; this is the plan for ", spec.nodes()));
  }
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
  auto tree = TreeFrom(flags);
  if (!tree.ok()) return Fail(console, tree.status());
  auto spec = SpecFrom(flags, tree->get());
  if (!spec.ok()) {
    const absl::Status& status = spec.status();
    return Fail(console, absl::Status(status.code(), absl::StrCat(place, status.message())));
  }
  if (flags.dry_run) {
    PrintPlan(*spec, flags.json, console);
    return kExitOk;
  }
  return Send(flags, tree->get(), *std::move(spec), console);
}

}  // namespace accel::cli
