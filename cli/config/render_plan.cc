#include "cli/config/render_plan.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/json_object.h"
#include "cli/render/escape.h"

namespace accel::cli {
namespace {

// Quotes a word for a shell if it has other characters than names and paths have.
std::string ShellWord(absl::string_view word) {
  const bool plain = !word.empty() && word.find_first_not_of(
                                          "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                          "0123456789_-+=./:,@%") == absl::string_view::npos;
  if (plain) return std::string(word);
  std::string quoted = "'";
  for (char c : word) absl::StrAppend(&quoted, c == '\'' ? "'\\''" : std::string(1, c));
  return quoted + "'";
}

common::NodeWorld WorldOf(const LaunchPlan& plan, const common::EnvList& user_env) {
  common::NodeWorld world;
  world.job_id = "(the job's id)";
  world.generation = 1;
  world.node_name = "(the node's name)";
  world.num_machines = plan.num_machines;
  world.local_world_size = plan.processes.empty() ? 1 : plan.processes[0];
  world.world_size = 0;
  for (int processes : plan.processes) world.world_size += processes;
  world.master_addr = "(the store's address)";
  world.max_restarts = plan.max_restarts;
  world.cpu = plan.cpu;
  world.gpu_ids = plan.local_gpus.empty() ? plan.gpu_ids : plan.local_gpus;
  world.mixed_precision = plan.mixed_precision;
  world.role = plan.role;
  world.debug = plan.debug;
  world.user_env = user_env;
  return world;
}

std::string LocalGpus(const LaunchPlan& plan) {
  if (plan.local_gpus.empty()) return "";
  return absl::StrCat(plan.local_gpus.size() == 1 ? ", on GPU " : ", on GPUs ",
                      absl::StrJoin(plan.local_gpus, ", "));
}

std::string Nodes(const LaunchPlan& plan) {
  if (plan.processes.empty()) {
    return plan.num_machines == 1
               ? "1 node, one process per GPU, or one\n"
               : absl::StrCat(plan.num_machines, " nodes, on each one process per GPU, or one\n");
  }
  std::string text;
  int rank = 0;
  for (size_t node = 0; node < plan.processes.size(); ++node) {
    const int last = rank + plan.processes[node] - 1;
    absl::StrAppend(&text, "node ", node, ": ", plan.processes[node],
                    last > rank ? " processes, ranks " : " process, rank ", rank);
    if (last > rank) absl::StrAppend(&text, " to ", last);
    absl::StrAppend(&text, plan.cpu ? ", on CPUs" : node == 0 ? LocalGpus(plan) : "", "\n");
    rank = last + 1;
  }
  return text;
}

// Returns the value of a variable, or what stands for it until the job starts.
std::string Shown(const LaunchPlan& plan, const std::string& name, const std::string& value) {
  if (name == common::kEnvMasterPort) return "(the store's port)";
  const bool are_gpus_known = !plan.gpu_ids.empty() || !plan.local_gpus.empty();
  if (name == common::kEnvCudaVisibleDevices && !plan.cpu && !are_gpus_known) {
    return "(the GPUs that the job gets)";
  }
  return value;
}

}  // namespace

std::string RenderPlan(const LaunchPlan& plan, const std::vector<std::string>& command,
                       const common::EnvList& user_env) {
  std::vector<std::string> words;
  for (const std::string& word : command) words.push_back(ShellWord(word));
  std::string text =
      absl::StrCat(Nodes(plan), "\nCommand of each process:\n  ",
                   EscapeControls(absl::StrJoin(words, " ")), "\n\nVariables of each process:\n");
  const common::NodeWorld world = WorldOf(plan, user_env);
  for (const auto& [name, value] : common::GenerationEnv(world)) {
    absl::StrAppend(&text, "  ", name, "=", EscapeControls(Shown(plan, name, value)), "\n");
  }
  for (int rank = 0; world.world_size > 1 && rank < world.local_world_size; ++rank) {
    absl::StrAppend(&text, rank == 0 ? "\nVariables that differ, on node 0:\n" : "", " ");
    for (const auto& [name, value] : common::RankEnv(world, rank)) {
      absl::StrAppend(&text, " ", name, "=", value);
    }
    if (!plan.local_gpus.empty()) absl::StrAppend(&text, " (GPU ", plan.local_gpus[rank], ")");
    absl::StrAppend(&text, "\n");
  }
  return text;
}

std::string RenderPlanAsJson(const LaunchPlan& plan, const std::vector<std::string>& command,
                             const common::EnvList& user_env) {
  std::vector<std::string> words;
  for (const std::string& word : command) words.push_back(JsonString(word));
  const common::NodeWorld world = WorldOf(plan, user_env);
  JsonObject variables;
  for (const auto& [name, value] : common::GenerationEnv(world)) {
    variables.Text(name, Shown(plan, name, value));
  }
  std::vector<std::string> ranks;
  for (int rank = 0; world.world_size > 1 && rank < world.local_world_size; ++rank) {
    JsonObject own;
    for (const auto& [name, value] : common::RankEnv(world, rank)) own.Text(name, value);
    ranks.push_back(own.Print());
  }
  return JsonObject::Versioned()
      .Number("nodes", static_cast<uint64_t>(plan.num_machines))
      .Json("processes_per_node", absl::StrCat("[", absl::StrJoin(plan.processes, ", "), "]"))
      .Json("gpus", absl::StrCat("[", absl::StrJoin(plan.local_gpus, ", "), "]"))
      .Json("command", absl::StrCat("[", absl::StrJoin(words, ", "), "]"))
      .Json("variables", variables.Print())
      .Json("variables_of_ranks", absl::StrCat("[", absl::StrJoin(ranks, ", "), "]"))
      .Print();
}

}  // namespace accel::cli
