#include "tests/conformance/launched.h"

#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "cli/config/load_config.h"
#include "cli/fake_caller_context.h"
#include "cli/launch_flags.h"

namespace accel::cli {
namespace {

using nlohmann::json;

HostFacts Host(const json& host) {
  HostFacts facts;
  facts.gpus = host["gpus"].get<int>();
  facts.physical_cores = host["physical_cores"].get<int>();
  facts.bf16 = host["bf16_supported"].get<bool>();
  facts.fp8 = host["fp8_available"].get<bool>();
  facts.mpi = host["mpi"] == "openmpi" ? Mpi::kOpenMpi : Mpi::kIntel;
  facts.cwd = "<CWD>";
  const auto parent = host["parent_env"].get<Env>();
  facts.env = [parent](const std::string& name) {
    const auto found = parent.find(name);
    return found == parent.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
  return facts;
}

// Returns the variables as the coordinator makes them for the machine of the plan.
Env WorkerEnv(const LaunchPlan& plan, const Env& parent) {
  common::NodeWorld world;
  world.machine_rank = plan.machine_rank;
  world.num_machines = plan.num_machines;
  if (plan.wrapper.empty()) {
    world.local_world_size = plan.processes[plan.machine_rank];
    for (int processes : plan.processes) world.world_size += processes;
    world.world_size -= 1;
  }
  world.cpu = plan.cpu;
  world.gpu_ids = plan.gpu_ids;
  world.mixed_precision = plan.mixed_precision;
  world.debug = plan.debug;
  world.user_env = plan.env;
  Env env = parent;
  for (const auto& [name, value] : common::GenerationEnv(world)) env[name] = value;
  return env;
}

absl::Status Run(const json& params, Launched* to) {
  LaunchFlags flags;
  const absl::Status parsed =
      MakeLaunchFlagSet(&flags).Parse(params["argv"].get<std::vector<std::string>>());
  if (!parsed.ok()) return parsed;
  if (const absl::Status wrong = CheckLaunchFlags(flags); !wrong.ok()) return wrong;
  const HostFacts host = Host(params["host"]);
  FakeCallerContext context;
  context.cwd = "/here";
  context.env["VIRTUAL_ENV"] = "/venv";
  const auto program = ResolveProgram(flags.job.program, context.Get());
  if (!program.ok()) return program.status();
  std::optional<ConfigFile> file;
  if (params["config_yaml"].is_string()) {
    auto read = ReadConfig("<CONFIG>", params["config_yaml"].get<std::string>());
    if (!read.ok()) return read.status();
    file = *std::move(read);
  } else if (!flags.config_file.empty()) {
    auto read = LoadConfig(flags.config_file, false, host.env);
    if (!read.ok()) return read.status();
    file = *std::move(read);
  }
  auto plan = PlanLaunch(EffectiveSettings(file, flags.settings), host);
  if (!plan.ok()) return plan.status();
  to->plan = *std::move(plan);
  to->notes = absl::StrJoin(to->plan.notes, "\n");
  to->env = WorkerEnv(to->plan, params["host"]["parent_env"].get<Env>());
  to->command = to->plan.wrapper;
  for (std::string word : program->argv) {
    if (word == "/venv/bin/python") word = "<PYTHON>";
    if (absl::StartsWith(word, "/here/")) word = word.substr(6);
    to->command.push_back(word);
  }
  return absl::OkStatus();
}

}  // namespace

Launched Launch(const json& params) {
  Launched launched;
  launched.status = Run(params, &launched);
  return launched;
}

}  // namespace accel::cli
