#include "cli/machines/core/terms.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/worker_env.h"

namespace accel::cli {
namespace {

// Returns the words so that different words give different texts.
std::string Join(const std::vector<std::string>& words) {
  return absl::StrJoin(words, " ", [](std::string* out, const std::string& word) {
    const bool plain = !word.empty() && word.find_first_of(" \"\\") == std::string::npos;
    absl::StrAppend(out, plain ? word : absl::StrCat("\"", absl::CEscape(word), "\""));
  });
}

void Add(const std::string& name, const std::string& value, std::vector<v1::RunTerm>* terms) {
  v1::RunTerm& term = terms->emplace_back();
  term.set_name(name);
  term.set_value(value);
}

void SetVariable(const v1::EnvVar& variable,
                 google::protobuf::RepeatedPtrField<v1::EnvVar>* variables) {
  for (v1::EnvVar& known : *variables) {
    if (known.name() == variable.name()) return known.set_value(variable.value());
  }
  *variables->Add() = variable;
}

}  // namespace

std::vector<v1::RunTerm> TermsOf(const std::vector<std::string>& words, const LaunchPlan& plan,
                                 bool counts_itself) {
  std::vector<v1::RunTerm> terms;
  Add("the command", Join(words), &terms);
  Add("the number of processes",
      counts_itself            ? "nproc_per_node"
      : plan.processes.empty() ? (plan.cpu ? "one on each machine" : "one for each GPU")
                               : absl::StrJoin(plan.processes, ","),
      &terms);
  Add("gpu_ids", absl::StrJoin(plan.gpu_ids, ","), &terms);
  Add("cpu", plan.cpu ? "true" : "false", &terms);
  Add("max_restarts", absl::StrCat(plan.max_restarts), &terms);
  Add("role", plan.role, &terms);
  for (const auto& [name, value] : plan.env) {
    // The number of threads depends on the cores of the machine.
    if (name != common::kEnvOmpNumThreads) Add(name, value, &terms);
  }
  return terms;
}

v1::JobSpec SharedSpec(v1::JobSpec own, int machines, const std::vector<int>& processes) {
  own.set_nodes(machines);
  own.clear_processes_per_node();
  own.mutable_processes_per_node()->Add(processes.begin(), processes.end());
  own.set_on_agent_loss(v1::END);
  own.set_keep_stdin(false);
  own.clear_env();
  return own;
}

void UseOwnCommand(const v1::JobSpec& own, v1::NodeDesired* desired) {
  for (v1::DesiredGeneration& generation : *desired->mutable_generations()) {
    if (generation.stop()) continue;
    *generation.mutable_argv() = own.argv();
    generation.set_workdir(own.workdir());
    *generation.mutable_required_paths() = own.required_paths();
    generation.set_log_dir(own.log_dir());
    for (const v1::EnvVar& variable : own.env()) {
      SetVariable(variable, generation.mutable_env());
    }
  }
}

}  // namespace accel::cli
