#include "coordinator/core/job_spec.h"

#include <google/protobuf/unknown_field_set.h>

#include <limits>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/printable.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "common/worker_env.h"
#include "common/world_size.h"
#include "upload/core/tree.h"

namespace accel::coordinator {
namespace {

constexpr size_t kMaxRoleBytes = 128;
constexpr size_t kMaxPathBytes = 4096;
constexpr int kMaxRequiredPaths = 64;
constexpr size_t kMaxNameBytes = 128;
constexpr int kMaxGpuId = 1023;
constexpr int kMaxExitCodes = 255;
constexpr int kMaxTerminalColumns = 10'000;
constexpr int64_t kMaxMillis = int64_t{10} * 366 * 24 * 3600 * 1000;
// Far above one second, because agents send their shims a sign of contact once per second.
constexpr int64_t kLeastSilenceMillis = 5000;
// Below one second, a busy machine alone could make a rank look as if it hangs.
constexpr int64_t kLeastHangMillis = 1000;
// A day, because a job that is asked to stop may hold its nodes for as long as its grace.
constexpr int64_t kMaxGraceMillis = int64_t{24} * 3600 * 1000;

absl::Status Bad(absl::string_view field, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", why));
}

absl::Status InRange(absl::string_view field, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return Bad(field, absl::StrCat("must be ", least, " to ", most, ", not ", value));
}

absl::Status CheckGrace(absl::string_view field, int64_t ms) {
  if (ms >= 0 && ms <= kMaxGraceMillis) return absl::OkStatus();
  return Bad(field, absl::StrCat("must be 0 to ", kMaxGraceMillis, ", which is a day, not ", ms));
}

// Bounds text from a client, and escapes the bytes that a terminal would obey. An invalid name may
// contain any bytes.
std::string Shown(const std::string& text) {
  return common::Shortened(common::Printable(text), 64);
}
std::string Quoted(const std::string& text) { return absl::StrCat("\"", Shown(text), "\""); }

bool HasNul(const std::string& text) { return text.find('\0') != std::string::npos; }

absl::Status CheckPath(absl::string_view field, const std::string& path) {
  if (path.size() > kMaxPathBytes) return Bad(field, "is longer than 4096 bytes");
  if (HasNul(path)) return Bad(field, "contains a NUL byte");
  if (!path.empty() && path[0] != '/')
    return Bad(field, absl::StrCat("must be absolute: ", Shown(path)));
  return absl::OkStatus();
}

absl::Status CheckProgram(const v1::JobSpec& spec) {
  if (spec.argv().empty() || spec.argv(0).empty()) return Bad("argv", "must name a program");
  if (spec.argv_size() > kMaxArguments) {
    return Bad("argv",
               absl::StrCat("has ", spec.argv_size(), " arguments; at most ", kMaxArguments));
  }
  int64_t bytes = 0;
  for (const std::string& argument : spec.argv()) {
    if (HasNul(argument)) return Bad("argv", "contains a NUL byte");
    bytes += static_cast<int64_t>(argument.size()) + 1;
  }
  if (bytes > kMaxArgvBytes) {
    return Bad("argv", absl::StrCat("has ", bytes, " bytes; at most ", kMaxArgvBytes));
  }
  ACCEL_RETURN_IF_ERROR(CheckPath("workdir", spec.workdir()));
  ACCEL_RETURN_IF_ERROR(CheckPath("log_dir", spec.log_dir()));
  ACCEL_RETURN_IF_ERROR(
      InRange("required_paths", spec.required_paths_size(), 0, kMaxRequiredPaths));
  for (const std::string& path : spec.required_paths()) {
    ACCEL_RETURN_IF_ERROR(CheckPath("required_paths", path));
  }
  return absl::OkStatus();
}

absl::Status CheckEnv(const v1::JobSpec& spec) {
  if (spec.env_size() > common::kMaxUserVariables) {
    return Bad("env", absl::StrCat("has ", spec.env_size(), " variables; at most ",
                                   common::kMaxUserVariables));
  }
  const common::EnvRights rights = {.cpu = spec.cpu(), .alone = common::HasOneProcess(spec)};
  int64_t bytes = 0;
  for (const v1::EnvVar& variable : spec.env()) {
    if (variable.name().empty() || variable.name().find('=') != std::string::npos ||
        HasNul(variable.name())) {
      return Bad("env", absl::StrCat(Quoted(variable.name()), " is not the name of a variable"));
    }
    if (const std::string set_by = common::SetByAccel(variable.name(), rights); !set_by.empty()) {
      return Bad("env", absl::StrCat(Shown(variable.name()), " cannot be chosen: ", set_by));
    }
    if (HasNul(variable.value())) {
      return Bad("env",
                 absl::StrCat("the value of ", Quoted(variable.name()), " contains a NUL byte"));
    }
    bytes += static_cast<int64_t>(variable.name().size() + variable.value().size()) + 2;
  }
  if (bytes > kMaxEnvBytes) {
    return Bad("env", absl::StrCat("has ", bytes, " bytes; at most ", kMaxEnvBytes));
  }
  return absl::OkStatus();
}

absl::Status CheckLife(const v1::JobSpec& spec) {
  ACCEL_RETURN_IF_ERROR(InRange("max_restarts", spec.max_restarts(), 0, kMaxRestarts));
  ACCEL_RETURN_IF_ERROR(InRange("restart_window_ms", spec.restart_window_ms(), 0, kMaxMillis));
  ACCEL_RETURN_IF_ERROR(InRange("no_retry_on", spec.no_retry_on_size(), 0, kMaxExitCodes));
  for (const int code : spec.no_retry_on()) {
    ACCEL_RETURN_IF_ERROR(InRange("no_retry_on", code, 1, kMaxExitCodes));
  }
  ACCEL_RETURN_IF_ERROR(InRange("time_limit_ms", spec.time_limit_ms(), 0, kMaxMillis));
  ACCEL_RETURN_IF_ERROR(InRange("start_deadline_ms", spec.start_deadline_ms(), 0, kMaxMillis));
  ACCEL_RETURN_IF_ERROR(CheckGrace("stop_grace_ms", spec.stop_grace_ms()));
  ACCEL_RETURN_IF_ERROR(CheckGrace("failure_grace_ms", spec.failure_grace_ms()));
  if (spec.hang_timeout_ms() != 0) {
    ACCEL_RETURN_IF_ERROR(
        InRange("hang_timeout_ms", spec.hang_timeout_ms(), kLeastHangMillis, kMaxMillis));
  }
  if (!v1::OnAgentLoss_IsValid(spec.on_agent_loss())) {
    return Bad("on_agent_loss", "must be END or KEEP");
  }
  const int64_t silence = spec.stop_on_disconnect_after_ms();
  if (silence == 0) return absl::OkStatus();
  if (spec.on_agent_loss() == v1::END) {
    return Bad("stop_on_disconnect_after_ms", "needs on_agent_loss KEEP");
  }
  return InRange("stop_on_disconnect_after_ms", silence, kLeastSilenceMillis, kMaxMillis);
}

absl::Status CheckManner(const v1::JobSpec& spec) {
  if (!spec.upload().empty() && !upload::IsSha256(spec.upload())) {
    return Bad("upload", "must be 64 hexadecimal digits");
  }
  static const auto* const kPrecisions = new std::set<std::string>{"", "no", "fp16", "bf16", "fp8"};
  if (kPrecisions->count(spec.mixed_precision()) == 0) {
    return Bad("mixed_precision",
               absl::StrCat("must be no, fp16, bf16 or fp8, not ", Quoted(spec.mixed_precision())));
  }
  if (spec.role().size() > kMaxRoleBytes || spec.role().find('\0') != std::string::npos) {
    return Bad("role", absl::StrCat("must have at most ", kMaxRoleBytes, " bytes and no NUL"));
  }
  return InRange("terminal_columns", spec.terminal_columns(), 0, kMaxTerminalColumns);
}

// A job with a setting that this version ignores would run without what its user asked for.
absl::Status CheckKnown(const v1::JobSpec& spec) {
  const google::protobuf::UnknownFieldSet& unknown = spec.GetReflection()->GetUnknownFields(spec);
  if (unknown.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the job has a setting (field ", unknown.field(0).number(),
      " of JobSpec) that the coordinator's version of accel, ", common::kVersion,
      ", does not know; upgrade the coordinator, or submit the job without that setting"));
}

}  // namespace

bool IsElastic(const v1::JobSpec& spec) { return MinNodes(spec) < spec.nodes(); }

int MinNodes(const v1::JobSpec& spec) {
  return spec.min_nodes() > 0 ? spec.min_nodes() : spec.nodes();
}

std::string ShapeOf(const v1::JobSpec& spec) {
  return absl::StrCat(spec.nodes(), "|", spec.min_nodes(), "|",
                      absl::StrJoin(spec.processes_per_node(), ","), "|",
                      absl::StrJoin(spec.gpu_ids(), ","));
}

absl::Status ValidateShape(const v1::JobSpec& spec) {
  ACCEL_RETURN_IF_ERROR(InRange("nodes", spec.nodes(), 1, kMaxNodesPerJob));
  ACCEL_RETURN_IF_ERROR(InRange("min_nodes", spec.min_nodes(), 0, spec.nodes()));
  const int entries = spec.processes_per_node_size();
  if (entries > 1 && IsElastic(spec)) {
    return Bad("processes_per_node", "must be one number for a job with a varying number of nodes");
  }
  if (entries > 1 && entries != spec.nodes()) {
    return Bad("processes_per_node", absl::StrCat("has ", entries, " entries for ", spec.nodes(),
                                                  " nodes; give none, one, or one for each node"));
  }
  for (int processes : spec.processes_per_node()) {
    ACCEL_RETURN_IF_ERROR(InRange("processes_per_node", processes, 1, kMaxProcessesPerNode));
  }
  if (spec.cpu() && !spec.gpu_ids().empty()) {
    return Bad("gpu_ids", "must be empty for a job that uses no GPU (cpu)");
  }
  std::set<int> seen;
  for (int gpu : spec.gpu_ids()) {
    ACCEL_RETURN_IF_ERROR(InRange("gpu_ids", gpu, 0, kMaxGpuId));
    if (!seen.insert(gpu).second) return Bad("gpu_ids", absl::StrCat(gpu, " is listed twice"));
  }
  return absl::OkStatus();
}

absl::Status ValidateJobSpec(const v1::JobSpec& spec) {
  ACCEL_RETURN_IF_ERROR(CheckKnown(spec));
  if (spec.name().size() > kMaxNameBytes) return Bad("name", "is longer than 128 bytes");
  ACCEL_RETURN_IF_ERROR(CheckProgram(spec));
  ACCEL_RETURN_IF_ERROR(CheckEnv(spec));
  ACCEL_RETURN_IF_ERROR(ValidateShape(spec));
  ACCEL_RETURN_IF_ERROR(CheckLife(spec));
  return CheckManner(spec);
}

}  // namespace accel::coordinator
