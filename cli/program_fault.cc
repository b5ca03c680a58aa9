#include "cli/program_fault.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "process/program_path.h"

namespace accel::cli {
namespace {

ProgramFault NotStarted(int exit_code, absl::string_view why) {
  return {exit_code, absl::StrCat("rank 0 could not be started: ", absl::StripSuffix(why, "."))};
}

}  // namespace

std::optional<ProgramFault> FindProgramFault(const v1::JobSpec& spec,
                                             const CallerContext& context) {
  for (const std::string& path : spec.required_paths()) {
    // The search for the program gives a more precise error.
    if (path == spec.argv(0) || context.probe(path) != FileKind::kMissing) continue;
    return NotStarted(process::kNotFoundCode, absl::StrCat(path, " does not exist on this node"));
  }
  std::vector<std::string> env;
  if (const auto path = context.env("PATH")) env.push_back(absl::StrCat("PATH=", *path));
  for (const v1::EnvVar& variable : spec.env()) {
    env.push_back(absl::StrCat(variable.name(), "=", variable.value()));
  }
  const auto program = process::FindProgram(spec.argv(0), spec.workdir(), env);
  if (program.code == 0) return std::nullopt;
  return NotStarted(program.code, program.why);
}

}  // namespace accel::cli
