#include "cli/config/core/worker_variables.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/config/core/fsdp_rules.h"
#include "cli/config/core/parallelism_rules.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

using Names = std::vector<std::string>;

// Returns the names without the spaces around them, because workers compare them exactly.
std::string JoinNames(const Value& value) {
  Names names;
  if (const auto* list = value.As<std::vector<Value>>()) {
    for (const Value& name : *list) names.push_back(PythonText(name));
  } else {
    names = absl::StrSplit(PythonText(value), ',');
  }
  for (std::string& name : names) absl::StripAsciiWhitespace(&name);
  return absl::StrJoin(names, ",");
}

std::string Printed(const Setting& setting, const Value& value) {
  std::string text = setting.kind == Kind::kNames ? JoinNames(value) : PythonText(value);
  if (setting.print == Print::kLower) absl::AsciiStrToLower(&text);
  if (setting.print == Print::kUpper) absl::AsciiStrToUpper(&text);
  return text;
}

class Variables {
 public:
  Variables(const EffectiveSettings& settings, const HostFacts& host, LaunchPlan* plan)
      : settings_(settings), host_(host), plan_(*plan) {}

  absl::Status AddAll() {
    Set(common::kEnvMixedPrecision, plan_.mixed_precision);
    if (plan_.debug) Set(common::kEnvDebugMode, "true");
    if (settings_.Is("enable_cpu_affinity")) Set(common::kEnvCpuAffinity, "1");
    AddSection("dynamo_config");
    AddThreads();
    AddSimple();
    if (plan_.mixed_precision == "fp8") ACCEL_RETURN_IF_ERROR(AddFp8());
    if (plan_.paradigm == Paradigm::kFsdp) ACCEL_RETURN_IF_ERROR(AddFsdp());
    if (plan_.paradigm == Paradigm::kDeepSpeed) AddDeepSpeed();
    if (plan_.paradigm == Paradigm::kMegatron) {
      Set("ACCELERATE_USE_MEGATRON_LM", "true");
      AddSection("megatron_lm_config");
    }
    ACCEL_RETURN_IF_ERROR(AddParallelism());
    NoteUnused();
    return absl::OkStatus();
  }

 private:
  void Set(absl::string_view name, std::string value) {
    plan_.env.emplace_back(name, std::move(value));
  }

  std::string Env(const std::string& name) const { return host_.env(name).value_or(""); }

  // Adds the variables of the settings of a section that have a value.
  void AddSection(absl::string_view section, const Names& except = {}) {
    used_.emplace_back(section);
    for (const EffectiveSetting& found : settings_.all()) {
      const Setting& setting = *found.setting;
      if (setting.section != section || setting.variable.empty() || found.value.is_null()) continue;
      if (std::find(except.begin(), except.end(), setting.name) != except.end()) continue;
      Set(setting.variable, Printed(setting, found.value));
    }
  }

  // One process gets the environment of Accelerate's simple launcher (docs/decisions/0012).
  void AddSimple() {
    const bool alone = plan_.processes == std::vector<int>{1} && plan_.paradigm == Paradigm::kPlain;
    const bool mpi = !plan_.wrapper.empty() && plan_.paradigm == Paradigm::kPlain;
    if (plan_.paradigm == Paradigm::kPlain && plan_.cpu) Set(common::kEnvUseCpu, "True");
    if (!alone && !mpi) return;
    if (!plan_.cpu) Set(common::kEnvUseCpu, "False");
    if (plan_.cpu) {
      Set(common::kEnvKmpAffinity, "granularity=fine,compact,1,0");
      Set(common::kEnvKmpBlocktime, "1");
    }
    if (!mpi) return;
    // The processes of mpirun have no store of accel, so they get an address of their own.
    const std::string ip = settings_.Text("main_process_ip");
    const std::string port = settings_.Text("main_process_port");
    Set(common::kEnvMasterAddr, ip.empty() ? "127.0.0.1" : ip);
    Set(common::kEnvMasterPort, port.empty() ? "29500" : port);
  }

  void AddThreads() {
    // DeepSpeed chooses its threads itself, unless the user does.
    if (plan_.paradigm == Paradigm::kDeepSpeed &&
        !settings_.IsGiven("num_cpu_threads_per_process")) {
      return;
    }
    Set(common::kEnvOmpNumThreads, absl::StrCat(Threads()));
  }

  int64_t Threads() const {
    if (const auto given = settings_.Int("num_cpu_threads_per_process")) return *given;
    int64_t inherited = 0;
    const bool is_inherited = absl::SimpleAtoi(Env(common::kEnvOmpNumThreads), &inherited);
    if (is_inherited && inherited > 0) return inherited;
    // A CPU job without a number of processes gets 1, as from Accelerate (docs/decisions/0050).
    const bool counted = settings_.IsGiven("num_processes") || settings_.file().has_value();
    if (!plan_.cpu || !counted || plan_.processes.empty()) return 1;
    int64_t local = plan_.wrapper.empty() ? plan_.processes[plan_.machine_rank]
                                          : std::max<int64_t>(plan_.processes[0], 1);
    for (const char* name :
         {"MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE"}) {
      int64_t ranks = 0;
      if (absl::SimpleAtoi(Env(name), &ranks) && ranks > 0) local = ranks;
    }
    return std::max<int64_t>(host_.physical_cores / local, 1);
  }

  absl::Status AddFp8() {
    if (host_.fp8 == false) {
      return absl::InvalidArgumentError(
          "FP8 is not available on this machine. Please ensure that either Transformer Engine, "
          "MSAMP or torchao is installed.");
    }
    AddSection("fp8_config");
    const Value& value = settings_.Get("fp8_override_linear_precision");
    std::vector<std::string> texts = {"False", "False", "False"};
    if (const auto* list = value.As<std::vector<Value>>()) {
      texts.clear();
      for (const Value& one : *list) texts.push_back(PythonText(one));
    } else if (const std::string* text = value.As<std::string>()) {
      texts = absl::StrSplit(*text, ',');
      for (std::string& one : texts) {
        if (const auto truth = ParseTruth(one)) one.assign(1, *truth ? '1' : '0');
      }
    }
    const bool truths = std::all_of(texts.begin(), texts.end(), [](const std::string& one) {
      return ParseTruth(one).has_value();
    });
    if (texts.size() != 3 || !truths) {
      return absl::InvalidArgumentError(
          absl::StrCat(settings_.Name("fp8_override_linear_precision"),
                       ": it must be three of true and false, for fprop, dgrad and wgrad"));
    }
    Set("ACCELERATE_FP8_OVERRIDE_FPROP", texts[0]);
    Set("ACCELERATE_FP8_OVERRIDE_DGRAD", texts[1]);
    Set("ACCELERATE_FP8_OVERRIDE_WGRAD", texts[2]);
    return absl::OkStatus();
  }

  absl::Status AddFsdp() {
    ACCEL_RETURN_IF_ERROR(CheckFsdp(settings_));
    for (std::string& note : FsdpNotes(settings_)) plan_.notes.push_back(std::move(note));
    Set("ACCELERATE_USE_FSDP", "true");
    AddSection("fsdp_config", {"fsdp_sharding_strategy"});
    Set("FSDP_SHARDING_STRATEGY", FsdpStrategy(settings_));
    return absl::OkStatus();
  }

  void AddDeepSpeed() {
    Names fields;
    if (settings_.file().has_value()) {
      for (const FileSetting& given : settings_.file()->settings) {
        if (given.setting->section == "deepspeed_config") fields.emplace_back(given.setting->name);
      }
    }
    if (settings_.Find("mixed_precision").source == Source::kFile) {
      fields.push_back("mixed_precision");
    }
    Set("ACCELERATE_CONFIG_DS_FIELDS", absl::StrJoin(fields, ","));
    Set("ACCELERATE_USE_DEEPSPEED", "true");
    const std::string inherited = Env("PYTHONPATH");
    Set("PYTHONPATH", absl::StrCat(inherited, inherited.empty() ? "" : ":", host_.cwd));
    AddSection("deepspeed_config");
  }

  absl::Status AddParallelism() {
    const bool asked = settings_.Is("use_parallelism_config");
    const bool in_file = settings_.HasSection("parallelism_config") &&
                         !settings_.IsFlagGiven("multi_gpu") && !settings_.IsFlagGiven("cpu");
    if (!asked && !in_file) return absl::OkStatus();
    if (plan_.paradigm == Paradigm::kDeepSpeed && !asked) {
      // DeepSpeed has sequence parallelism without FSDP.
    } else if (plan_.paradigm != Paradigm::kFsdp || settings_.Text("fsdp_version") != "2") {
      return absl::InvalidArgumentError(
          absl::StrCat(asked ? "" : absl::StrCat(FirstOf("parallelism_config"), ": "),
                       "You cannot use `--use_parallelism_config` without `--use_fsdp` and "
                       "`--fsdp_version=2`."));
    } else {
      std::optional<int64_t> total;
      if (!plan_.processes.empty()) {
        total = std::accumulate(plan_.processes.begin(), plan_.processes.end(), int64_t{0});
      }
      ACCEL_RETURN_IF_ERROR(CheckParallelism(settings_, total));
    }
    Set("ACCELERATE_USE_PARALLELISM_CONFIG", "true");
    Names except;
    if (settings_.Int("parallelism_config_cp_size").value_or(1) <= 1) {
      except.push_back("parallelism_config_cp_comm_strategy");
    }
    if (settings_.Int("parallelism_config_sp_size").value_or(1) <= 1) {
      except.insert(except.end(), {"parallelism_config_sp_seq_length",
                                   "parallelism_config_sp_seq_length_is_variable",
                                   "parallelism_config_sp_attn_implementation"});
    } else if (settings_.Get("parallelism_config_sp_seq_length").is_null()) {
      Set("PARALLELISM_CONFIG_SP_SEQ_LENGTH", "None");
    }
    AddSection("parallelism_config", except);
    return absl::OkStatus();
  }

  // Returns the place of the first given setting of a section.
  std::string FirstOf(absl::string_view section) const {
    for (const EffectiveSetting& found : settings_.all()) {
      if (found.setting->section == section && found.source != Source::kDefault) {
        return settings_.Name(found.setting->name);
      }
    }
    return std::string(section);
  }

  // Says once for each section that its settings are given without effect.
  void NoteUnused() {
    static constexpr std::pair<const char*, const char*> kNeeds[] = {
        {"fsdp_config", "distributed_type: FSDP or --use_fsdp"},
        {"deepspeed_config", "distributed_type: DEEPSPEED or --use_deepspeed"},
        {"megatron_lm_config", "distributed_type: MEGATRON_LM or --use_megatron_lm"},
        {"parallelism_config", "--use_fsdp and version 2 of FSDP"},
        {"fp8_config", "mixed_precision: fp8"}};
    for (const auto& [section, need] : kNeeds) {
      if (std::find(used_.begin(), used_.end(), section) != used_.end()) continue;
      const std::string first = FirstOf(section);
      if (first == section) continue;
      plan_.notes.push_back(absl::StrCat(first, " has no effect without ", need));
    }
  }

  const EffectiveSettings& settings_;
  const HostFacts& host_;
  LaunchPlan& plan_;
  Names used_;  // The sections of which variables were added.
};

}  // namespace

absl::Status AddWorkerVariables(const EffectiveSettings& settings, const HostFacts& host,
                                LaunchPlan* plan) {
  return Variables(settings, host, plan).AddAll();
}

}  // namespace accel::cli
