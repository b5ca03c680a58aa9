#include "cli/job_file.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/config/core/document.h"
#include "cli/config/core/setting.h"
#include "cli/render/escape.h"
#include "common/status_macros.h"
#include "common/suggest.h"

namespace accel::cli {
namespace {

using Words = std::vector<std::string>;

constexpr DocumentKind kKind = {.needs = "program", .example = "program: ./train"};

// Returns the text of a value as a flag takes it.
std::string FlagText(const Value& value) {
  if (const bool* truth = value.As<bool>()) return *truth ? "true" : "false";
  return PythonText(value);
}

Words ListOf(const Value& value) {
  const auto* list = value.As<std::vector<Value>>();
  if (list == nullptr) return {FlagText(value)};
  Words words;
  for (const Value& one : *list) words.push_back(FlagText(one));
  return words;
}

bool IsList(const Node& node) { return node.value.As<std::vector<Value>>() != nullptr; }

// Checks the names of the variables. The flag --env would take `B=C: D` for B with another value.
absl::Status CheckVariables(absl::string_view file, const Node& env) {
  for (const Member& variable : env.members) {
    if (variable.node->is_mapping || IsList(*variable.node)) {
      return ErrorAt(file, variable.node->mark,
                     absl::StrCat(variable.key, " must be a plain value"));
    }
    if (!variable.key.empty() && !absl::StrContains(variable.key, '=')) continue;
    return ErrorAt(file, variable.mark,
                   absl::StrCat("env: \"", variable.key,
                                "\" is not the name of a variable; write NAME: VALUE"));
  }
  for (const std::string& one : env.words) {
    if (!one.empty() && one[0] != '=') continue;
    return ErrorAt(file, env.mark,
                   absl::StrCat("env: \"", one, "\" must be NAME=VALUE, or NAME to copy it"));
  }
  return absl::OkStatus();
}

// Checks that each word of a list is there.
absl::Status CheckWords(absl::string_view file, const Member& member) {
  const auto* list = member.node->value.As<std::vector<Value>>();
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    if (!(*list)[i].is_null()) continue;
    return ErrorAt(file, member.node->word_marks[i],
                   absl::StrCat(member.key, ": null is no word; write \"\" or \"null\""));
  }
  return absl::OkStatus();
}

// Checks the kind of the key's value.
absl::Status CheckKind(absl::string_view file, const Member& member) {
  if (member.key == "env") return CheckVariables(file, *member.node);
  const bool is_wrong =
      member.node->is_mapping || (member.key == "program" && IsList(*member.node));
  if (!is_wrong) return CheckWords(file, member);
  return ErrorAt(file, member.node->mark, absl::StrCat(member.key, " must be a plain value"));
}

// Returns what to do instead of a flag or key of `accel launch`. Empty if there is no such flag.
std::string InsteadOf(absl::string_view key) {
  constexpr std::pair<absl::string_view, absl::string_view> kInstead[] = {
      {"num_processes", "is the number on all nodes; use processes_per_node, and nodes"},
      {"nproc_per_node", "is torchrun's name; use processes_per_node"},
      {"num_machines", "is a key of `accel launch`; use nodes"},
      {"nnodes", "is torchrun's name; use nodes"},
      {"main_process_ip", "is not needed, because the coordinator joins the nodes; remove it"},
      {"main_process_port", "is not needed, because the coordinator joins the nodes; remove it"},
      {"machine_rank", "is not needed, because the coordinator numbers the nodes; remove it"},
      {"rdzv_endpoint", "is not needed, because the coordinator joins the nodes; remove it"},
      {"multi_gpu", "is not needed, because each process gets a GPU of its own; remove it"},
      {"num_cpu_threads_per_process", "is a flag of `accel launch`; use env: {OMP_NUM_THREADS: N}"},
      {"tee", "is a flag of `accel launch`; `accel logs` shows the output"},
      {"log_dir", "is a flag of `accel launch`; `accel logs` shows the output"},
      {"use_fsdp", "is a flag of `accel launch`; name a file of FSDP with config_file: FILE"},
      {"use_deepspeed",
       "is a flag of `accel launch`; name a file of DeepSpeed with config_file: "
       "FILE"},
      {"use_megatron_lm",
       "is a flag of `accel launch`; name a file of Megatron-LM with "
       "config_file: FILE"},
  };
  for (const auto& [name, sentence] : kInstead) {
    if (name == key) return absl::StrCat(key, " ", sentence);
  }
  const Setting* const setting = FindSetting(key);
  if (setting == nullptr) return "";
  if (!IsInFile(*setting)) {
    return absl::StrCat(key, " is a flag of `accel launch`; `accel submit` has no such setting");
  }
  return absl::StrCat(key,
                      " is a key of a configuration file; name that file with config_file: FILE");
}

absl::Status CheckKey(absl::string_view file, const Member& member, const Words& known) {
  if (std::find(known.begin(), known.end(), member.key) != known.end()) return absl::OkStatus();
  const std::string instead = InsteadOf(member.key);
  if (!instead.empty()) return ErrorAt(file, member.mark, instead);
  const std::string nearest = common::Nearest(member.key, known);
  return ErrorAt(file, member.mark,
                 absl::StrCat("unknown key ", EscapeControls(member.key.substr(0, 80)),
                              nearest.empty() ? "; the keys are the flags of `accel submit`, "
                                                "program and args"
                                              : absl::StrCat("; did you mean ", nearest, "?")));
}

// Returns the flags of one key.
Words FlagsOf(const Member& member) {
  Words flags;
  if (member.key == "env") {
    for (const Member& variable : member.node->members) {
      const Node& node = *variable.node;
      flags.push_back(absl::StrCat("--env=", variable.key, "=",
                                   node.value.is_null() ? "" : node.words.front()));
    }
    for (const std::string& one : member.node->words) flags.push_back(absl::StrCat("--env=", one));
    return flags;
  }
  return {absl::StrCat("--", member.key, "=", absl::StrJoin(ListOf(member.node->value), ","))};
}

}  // namespace

bool IsJobFile(absl::string_view program) {
  return absl::EndsWith(program, ".yaml") || absl::EndsWith(program, ".yml") ||
         absl::EndsWith(program, ".json");
}

absl::StatusOr<std::vector<std::string>> ExpandJobFile(const std::vector<std::string>& args,
                                                       size_t program_words, absl::string_view text,
                                                       FlagSet& flags) {
  const auto file = args.end() - static_cast<ptrdiff_t>(program_words);
  ACCEL_ASSIGN_OR_RETURN(const Node root, ParseDocument(*file, text, kKind));
  Words known = flags.Names();
  known.insert(known.end(), {"program", "args"});
  Words expanded, program, arguments;
  for (const Member& member : root.members) {
    ACCEL_RETURN_IF_ERROR(CheckKey(*file, member, known));
    ACCEL_RETURN_IF_ERROR(CheckKind(*file, member));
    if (!member.node->is_mapping && member.node->value.is_null()) continue;
    if (member.key == "program") {
      program = member.node->words;
    } else if (member.key == "args") {
      arguments = member.node->words;
    } else {
      for (std::string& flag : FlagsOf(member)) {
        const absl::Status read = flags.Parse({flag});
        if (!read.ok()) return ErrorAt(*file, member.node->mark, read.message());
        expanded.push_back(std::move(flag));
      }
    }
  }
  if (program.empty()) return ErrorAt(*file, root.mark, "program is missing");
  expanded.insert(expanded.end(), args.begin(), file);
  if (expanded.empty() || expanded.back() != "--") expanded.push_back("--");
  expanded.insert(expanded.end(), program.begin(), program.end());
  expanded.insert(expanded.end(), arguments.begin(), arguments.end());
  expanded.insert(expanded.end(), file + 1, args.end());
  return expanded;
}

}  // namespace accel::cli
