#include "cli/job_spec.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/render/escape.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "common/worker_env.h"
#include "common/world_size.h"

namespace accel::cli {
namespace {

constexpr const char* kOverrides[] = {"OMP_NUM_THREADS", "GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME",
                                      "TORCH_NCCL_ASYNC_ERROR_HANDLING",
                                      common::kEnvAccelSharedMemory};
constexpr const char* kPlaces[] = {"PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH",
                                   "LD_LIBRARY_PATH"};

void SetEnv(const std::string& name, std::string value, v1::JobSpec* spec) {
  v1::EnvVar* variable = nullptr;
  for (v1::EnvVar& known : *spec->mutable_env()) {
    if (known.name() == name) variable = &known;
  }
  if (variable == nullptr) variable = spec->add_env();
  variable->set_name(name);
  variable->set_value(std::move(value));
}

template <typename Names>
void CopyEnv(const Names& names, const CallerContext& context, v1::JobSpec* spec) {
  for (const char* name : names) {
    if (auto value = context.env(name)) SetEnv(name, *std::move(value), spec);
  }
}

// Adds the variable of one --env.
absl::Status AddEnv(const std::string& text, const CallerContext& context, v1::JobSpec* spec) {
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  if (name.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--env \"", text, "\": it must be NAME=VALUE or NAME"));
  }
  const common::EnvRights rights = {.cpu = spec->cpu(), .alone = common::HasOneProcess(*spec)};
  if (const std::string set_by = common::SetByAccel(name, rights); !set_by.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--env ", name, " cannot be chosen: ", set_by));
  }
  if (equals != std::string::npos) {
    SetEnv(name, text.substr(equals + 1), spec);
    return absl::OkStatus();
  }
  auto value = context.env(name);
  if (!value.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--env ", name, ": it is not set here; give --env ", name, "=VALUE"));
  }
  SetEnv(name, *std::move(value), spec);
  return absl::OkStatus();
}

// Returns the program's name. A name longer than 128 bytes, the limit for a job's name, is cut at
// a character boundary.
std::string NameOf(std::string program) {
  constexpr size_t kLongest = 128;
  constexpr absl::string_view kCut = "…";
  if (program.size() <= kLongest) return program;
  size_t end = kLongest - kCut.size();
  while (end > 0 && (static_cast<unsigned char>(program[end]) & 0xC0) == 0x80) --end;
  return absl::StrCat(program.substr(0, end), kCut);
}

// Slow links take this many bytes in a second. A start deadline has time for them.
constexpr int64_t kSlowBytesPerSecond = 2'000'000;
constexpr absl::Duration kStartDeadline = absl::Minutes(1);

absl::StatusOr<Program> ResolveIn(const upload::LocalTree& local, const ProgramRequest& request,
                                  const CallerContext& context) {
  const auto has = [&local](const std::string& path) {
    return std::binary_search(
        local.tree.begin(), local.tree.end(), upload::TreeEntry{.path = path},
        [](const upload::TreeEntry& a, const upload::TreeEntry& b) { return a.path < b.path; });
  };
  return ResolveUploadedProgram(request, {.root = local.root, .has = has}, context);
}

absl::Duration StartDeadlineFor(const upload::LocalTree& local) {
  int64_t bytes = 0;
  for (const upload::TreeEntry& entry : local.tree) bytes += entry.size;
  return kStartDeadline + absl::Seconds(bytes / kSlowBytesPerSecond);
}

absl::StatusOr<v1::JobSpec> MakeSpec(const JobFlags& flags, const std::string& workdir,
                                     const upload::LocalTree* upload,
                                     const CallerContext& context) {
  ACCEL_ASSIGN_OR_RETURN(Program program, upload == nullptr
                                              ? ResolveProgram(flags.program, context)
                                              : ResolveIn(*upload, flags.program, context));
  v1::JobSpec spec;
  spec.set_name(NameOf(std::move(program.name)));
  for (std::string& word : program.argv) spec.add_argv(std::move(word));
  spec.set_workdir(workdir);
  if (!workdir.empty()) spec.add_required_paths(workdir);
  if (upload != nullptr) {
    spec.set_start_deadline_ms(absl::ToInt64Milliseconds(StartDeadlineFor(*upload)));
  }
  for (std::string& path : program.required_paths) spec.add_required_paths(std::move(path));
  spec.set_nodes(1);
  spec.set_cpu(flags.cpu);
  spec.mutable_gpu_ids()->Add(flags.gpu_ids.begin(), flags.gpu_ids.end());
  spec.set_max_restarts(flags.max_restarts);
  spec.set_restart_window_ms(absl::ToInt64Milliseconds(flags.restart_window));
  spec.mutable_no_retry_on()->Add(flags.no_retry_on.begin(), flags.no_retry_on.end());
  spec.set_hang_timeout_ms(absl::ToInt64Milliseconds(flags.hang_timeout));
  spec.set_mixed_precision(flags.mixed_precision);
  spec.set_debug(flags.debug);
  spec.set_on_agent_loss(v1::END);
  CopyEnv(kOverrides, context, &spec);
  return spec;
}

absl::Status AddAllEnv(const std::vector<std::string>& texts, const CallerContext& context,
                       v1::JobSpec* spec) {
  if (texts.size() > common::kMaxUserVariables) {
    return absl::InvalidArgumentError(absl::StrCat("--env is given ", texts.size(),
                                                   " times; at most ", common::kMaxUserVariables));
  }
  for (const std::string& text : texts) ACCEL_RETURN_IF_ERROR(AddEnv(text, context, spec));
  return absl::OkStatus();
}

absl::Status CheckUtf8(absl::string_view what, absl::string_view text) {
  if (common::IsUtf8(text)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(EscapeControls(what), " is not UTF-8; only UTF-8 can be sent"));
}

// Checks that everything that is sent is UTF-8, because a protobuf string can hold nothing else.
absl::Status CheckUtf8(const v1::JobSpec& spec) {
  ACCEL_RETURN_IF_ERROR(CheckUtf8("--name", spec.name()));
  ACCEL_RETURN_IF_ERROR(CheckUtf8("--workdir", spec.workdir()));
  ACCEL_RETURN_IF_ERROR(CheckUtf8("--runs_as", spec.runs_as()));
  for (const std::string& word : spec.argv()) {
    ACCEL_RETURN_IF_ERROR(CheckUtf8(absl::StrCat("the argument ", word), word));
  }
  for (const std::string& path : spec.required_paths()) {
    ACCEL_RETURN_IF_ERROR(CheckUtf8(absl::StrCat("the path ", path), path));
  }
  for (const v1::EnvVar& variable : spec.env()) {
    const std::string what = absl::StrCat("the variable ", variable.name());
    ACCEL_RETURN_IF_ERROR(CheckUtf8(what, variable.name()));
    ACCEL_RETURN_IF_ERROR(CheckUtf8(what, variable.value()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::JobSpec> MakeSubmitSpec(const SubmitFlags& flags, const CallerContext& context,
                                           const upload::LocalTree* upload) {
  ACCEL_RETURN_IF_ERROR(CheckSubmitFlags(flags));
  std::string workdir;  // With an upload, the nodes choose it.
  if (upload == nullptr) {
    workdir = flags.workdir.empty() ? context.cwd : AbsolutePath(flags.workdir, context.cwd);
  }
  ACCEL_ASSIGN_OR_RETURN(v1::JobSpec spec, MakeSpec(flags.job, workdir, upload, context));
  if (!flags.name.empty()) spec.set_name(flags.name);
  spec.set_runs_as(flags.runs_as);
  spec.set_nodes(flags.nodes.max);
  if (flags.nodes.min < flags.nodes.max) spec.set_min_nodes(flags.nodes.min);
  spec.mutable_processes_per_node()->Add(flags.processes_per_node.begin(),
                                         flags.processes_per_node.end());
  spec.set_time_limit_ms(absl::ToInt64Milliseconds(flags.time_limit));
  spec.set_on_agent_loss(flags.keep ? v1::KEEP : v1::END);
  spec.set_stop_on_disconnect_after_ms(absl::ToInt64Milliseconds(flags.stop_on_disconnect_after));
  CopyEnv(kPlaces, context, &spec);
  for (const auto& [name, value] : flags.settings_env) SetEnv(name, value, &spec);
  ACCEL_RETURN_IF_ERROR(AddAllEnv(flags.job.env, context, &spec));
  ACCEL_RETURN_IF_ERROR(CheckUtf8(spec));
  return spec;
}

absl::StatusOr<v1::JobSpec> MakeLaunchSpec(const LaunchFlags& flags, const LaunchPlan& plan,
                                           const CallerContext& context) {
  ACCEL_RETURN_IF_ERROR(CheckLaunchFlags(flags));
  JobFlags job = flags.job;
  job.cpu = plan.cpu;
  job.gpu_ids = plan.gpu_ids;
  job.mixed_precision = plan.mixed_precision;
  job.max_restarts = plan.max_restarts;
  job.debug = plan.debug;
  ACCEL_ASSIGN_OR_RETURN(v1::JobSpec spec, MakeSpec(job, context.cwd, nullptr, context));
  spec.set_nodes(plan.num_machines);
  spec.mutable_processes_per_node()->Add(plan.processes.begin(), plan.processes.end());
  if (!plan.log_dir.empty()) spec.set_log_dir(AbsolutePath(plan.log_dir, context.cwd));
  if (plan.role != "default") spec.set_role(plan.role);
  const bool is_sent = plan.on_cluster;
  if (is_sent) {
    spec.set_on_agent_loss(v1::KEEP);
    CopyEnv(kPlaces, context, &spec);
  }
  for (const auto& [name, value] : plan.env) SetEnv(name, value, &spec);
  ACCEL_RETURN_IF_ERROR(AddAllEnv(flags.job.env, context, &spec));
  if (is_sent || plan.num_machines > 1) ACCEL_RETURN_IF_ERROR(CheckUtf8(spec));
  return spec;
}

}  // namespace accel::cli
