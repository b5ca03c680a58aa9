// The environment that `accel launch` gives to workers, compared with that of `accelerate launch`
// for recorded configuration files and command lines.
//
// Each case takes the whole way of a launch (tests/conformance/launched.h). Where upstream has a
// defect, BetterThan() has upstream's behaviour in quotes, and beside it what accel does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/config/core/value.h"
#include "common/worker_env.h"
#include "tests/conformance/golden.h"
#include "tests/conformance/launched.h"

namespace accel::cli {
namespace {

using nlohmann::json;

// The one exemption: the address and the port of the job's store are accel's own, so a port that is
// in use elsewhere is no error either.
bool IsStore(const std::string& name) { return name == "MASTER_ADDR" || name == "MASTER_PORT"; }

// Variables that torchrun's agent adds to each worker, which the recorded cases leave out, and
// accel's own.
bool IsIdentity(const std::string& name) {
  return absl::StartsWith(name, "ACCEL_") || absl::StartsWith(name, "TORCHELASTIC_") ||
         absl::EndsWith(name, "WORLD_SIZE") || common::IsRankVariable(name) ||
         name == "TORCH_NCCL_ASYNC_ERROR_HANDLING";
}

// Variables that upstream leaves unset in some launches, with the values that mean the same.
bool MeansUnset(const std::string& name, const std::string& value) {
  if (name == "ACCELERATE_USE_CPU") return value == "false" || value == "true";
  if (name == "CUDA_VISIBLE_DEVICES") return true;  // The devices that the job holds.
  return absl::StartsWith(name, "ACCELERATE_DYNAMO_") &&
         (value == "NO" || value == "default" || value == "False");
}

bool IsRefused(const Launched& ours, absl::string_view name) {
  return !ours.status.ok() && absl::StrContains(ours.status.message(), name);
}

int64_t FirstNumber(const std::string& text) {
  int64_t number = 0;
  EXPECT_TRUE(absl::SimpleAtoi(text.substr(0, text.find(' ')), &number)) << text;
  return number;
}

bool IsNumber(const std::string& text) {
  int64_t number = 0;
  return absl::SimpleAtoi(text, &number);
}

// One defect of upstream, by a part of its description, and the check of what accel does.
struct Better {
  const char* upstream;
  bool (*is_better)(const Launched& ours, const std::string& defect);
};

const Better kBetter[] = {
    {"are asked for, one is started",
     [](const Launched& ours, const std::string& defect) {
       const std::string cpu = ours.plan.cpu ? "True" : "false";
       return ours.Total() == FirstNumber(defect) && ours.Get("ACCELERATE_USE_CPU") == cpu;
     }},
    {"integer division leaves",
     [](const Launched& ours, const std::string& defect) {
       return ours.Total() == FirstNumber(defect);
     }},
    {"raw TypeError instead of a message",  // accel needs no --machine_rank.
     [](const Launched& ours, const std::string&) { return ours.Total() == 4; }},
    {"raw AttributeError instead of a message",
     [](const Launched& ours, const std::string&) { return IsRefused(ours, "<CONFIG>:1:1: "); }},
    {"raw ParserError instead of a message",
     [](const Launched& ours, const std::string&) { return IsRefused(ours, "<CONFIG>:2:1: not"); }},
    {"unknown keys of fp8_config are silently ignored",
     [](const Launched& ours, const std::string&) {
       return ours.Get("ACCELERATE_FP8_AMAX_HISTORY_LEN") == "16" &&
              absl::StrContains(ours.notes, "amax_history_length");
     }},
    {"ACCELERATE_FP8_BACKEND is exported in lower case",
     [](const Launched& ours, const std::string&) {
       const std::string& backend = ours.Get("ACCELERATE_FP8_BACKEND");
       return backend == "TE" || backend == "AO" || backend == "MSAMP";
     }},
    {"ram efficient loading without synced module states is not refused",
     [](const Launched& ours, const std::string&) {
       return IsRefused(ours, "--fsdp_sync_module_states is ");
     }},
    {"a parallelism config is accepted without FSDP version 2",
     [](const Launched& ours, const std::string&) {
       return IsRefused(ours, "`--use_parallelism_config` without");
     }},
    {"the value after a flag without argument becomes the script",
     [](const Launched& ours, const std::string&) { return IsRefused(ours, "--NAME=false"); }},
    {"enable_cpu_affinity of the config file is silently ignored",
     [](const Launched& ours, const std::string&) {
       return ours.Get("ACCELERATE_CPU_AFFINITY") == "1";
     }},
    // The store is the rendezvous of every job, so neither value changes what workers get.
    {"same_network of the config file is silently ignored",
     [](const Launched& ours, const std::string&) { return ours.plan.num_machines == 2; }},
    {"several machines without a main_process_ip are accepted",
     [](const Launched& ours, const std::string&) { return IsRefused(ours, ": num_machines is"); }},
    {"the NVMe paths of deepspeed_config never reach the workers",
     [](const Launched& ours, const std::string&) {
       return ours.Get("ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_NVME_PATH") == "/nvme/opt" &&
              ours.Get("ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_NVME_PATH") == "/nvme/par";
     }},
    {"fsdp_backward_prefetch_policy",
     [](const Launched& ours, const std::string&) {
       return ours.env.count("FSDP_BACKWARD_PREFETCH") == 1 &&
              absl::StrContains(ours.notes, "fsdp_backward_prefetch_policy is an old key");
     }},
    {"raw KeyError in the worker",
     [](const Launched& ours, const std::string&) { return IsRefused(ours, ": fsdp_"); }},
    {"the launcher accepts the value; each worker fails",
     [](const Launched& ours, const std::string&) {
       return IsRefused(ours, ": fsdp_") || IsNumber(ours.Get("FSDP_MIN_NUM_PARAMS"));
     }},
    {"spaces around class names are kept",
     [](const Launched& ours, const std::string&) {
       return ours.Get("FSDP_TRANSFORMER_CLS_TO_WRAP") == "BertLayer,BertEmbeddings";
     }},
    {"a YAML list of class names becomes one string with brackets",
     [](const Launched& ours, const std::string&) {
       return ours.Get("FSDP_TRANSFORMER_CLS_TO_WRAP") == "BertLayer,BertEmbeddings";
     }},
    {"has no effect in FSDP 2 and nothing says so",
     [](const Launched& ours, const std::string& defect) {
       for (absl::string_view part : absl::StrSplit(defect, "; ")) {
         if (!absl::StrContains(part, "has no effect in FSDP 2")) continue;
         const absl::string_view name = part.substr(0, part.find(' '));
         if (!absl::StrContains(ours.notes, absl::StrCat(name, " has no effect"))) return false;
       }
       return true;
     }},
    {"fsdp_limit_all_gathers is silently ignored",
     [](const Launched& ours, const std::string&) {
       return IsRefused(ours, "unknown key fsdp_limit_all_gathers");
     }},
    {"fsdp_unknown_option is silently ignored",
     [](const Launched& ours, const std::string&) {
       return IsRefused(ours, "unknown key fsdp_unknown_option");
     }},
    {"is silently overridden by the default FULL_SHARD",
     [](const Launched& ours, const std::string&) {
       const std::string reshard = ours.Get("FSDP_RESHARD_AFTER_FORWARD");
       return ParseTruth(reshard).has_value() ||
              absl::EqualsIgnoreCase(ours.Get("FSDP_SHARDING_STRATEGY"), reshard);
     }},
};

// A case may have several defects. A refusal because of one of them is enough.
void ExpectBetter(const Launched& ours, const std::string& defects) {
  int known = 0, better = 0;
  for (const Better& row : kBetter) {
    const size_t begin = defects.find(row.upstream);
    if (begin == std::string::npos) continue;
    ++known;
    const size_t part = defects.rfind("; ", begin);
    better += row.is_better(ours, part == std::string::npos ? defects : defects.substr(part + 2));
  }
  EXPECT_GT(known, 0) << "no row says what accel does instead: " << defects;
  EXPECT_TRUE(ours.status.ok() ? better == known : better > 0)
      << "upstream: " << defects << "\n ours: " << ours.status << "\n"
      << ours.notes;
}

std::set<std::string> DefectFields(const json& golden) {
  if (!golden.contains("upstream_defect")) return {};
  if (!golden.contains("defect_fields")) return {"env", "command", "launcher", "error", "plugin"};
  return golden["defect_fields"].get<std::set<std::string>>();
}

// Compares the variables, except those that are defects.
void CompareEnv(const json& golden, const Launched& ours, const Env& mine) {
  const std::set<std::string> defects = DefectFields(golden);
  if (defects.count("env") > 0) return;
  Env theirs = golden["params"]["host"]["parent_env"].get<Env>();
  for (const auto& [name, value] : golden["expected"]["env"].items()) {
    if (value.is_null()) {
      theirs.erase(name);
    } else {
      theirs[name] = value.get<std::string>();
    }
    // Upstream passes 1e8 on as it is written, and workers that read it fail.
    double number = 0;
    if (name == "FSDP_MIN_NUM_PARAMS" && absl::SimpleAtod(theirs[name], &number)) {
      theirs[name] = absl::StrCat(static_cast<int64_t>(number));
    }
  }
  const bool is_store = ours.plan.wrapper.empty();  // mpirun has no store of accel.
  Env rest = mine;
  for (const auto& [name, value] : mine) {
    const bool unset = theirs.count(name) == 0;
    if (defects.count("env." + name) > 0 ||
        (unset && (IsIdentity(name) || MeansUnset(name, value)))) {
      rest.erase(name);
    }
  }
  for (const auto& [name, value] : mine) {
    if (is_store && IsStore(name)) rest.erase(name);
    // D4 of FSDP: workers look for class names with the spaces around them.
    if (name == "FSDP_TRANSFORMER_CLS_TO_WRAP" && !defects.empty()) rest.erase(name);
  }
  for (auto it = theirs.begin(); it != theirs.end();) {
    const bool skip = defects.count("env." + it->first) > 0 || (is_store && IsStore(it->first)) ||
                      (it->first == "FSDP_TRANSFORMER_CLS_TO_WRAP" && !defects.empty());
    it = skip ? theirs.erase(it) : std::next(it);
  }
  EXPECT_EQ(rest, theirs);
}

void CompareWorld(const json& expected, const Launched& ours) {
  if (expected["launcher"] == "simple") {
    EXPECT_TRUE(ours.Total() == 1 || !ours.plan.wrapper.empty());
  }
  if (!expected.contains("torchrun_args")) return;
  EXPECT_EQ(ours.plan.processes[ours.plan.machine_rank],
            expected["launch_config"]["nproc_per_node"].get<int>());
  EXPECT_EQ(ours.plan.num_machines, expected["launch_config"]["max_nodes"].get<int>());
  EXPECT_EQ(ours.plan.machine_rank, expected["torchrun_args"].value("node_rank", 0));
  EXPECT_EQ(ours.plan.role, expected["launch_config"]["role"].get<std::string>());
  EXPECT_EQ(ours.plan.max_restarts, expected["launch_config"]["max_restarts"].get<int>());
}

// Upstream starts Python without -u where it starts one process.
std::vector<std::string> WithoutUnbuffered(std::vector<std::string> words) {
  words.erase(std::remove(words.begin(), words.end(), "-u"), words.end());
  return words;
}

void CompareCommand(const json& expected, const Launched& ours) {
  auto theirs = expected["command"].get<std::vector<std::string>>();
  for (std::string& word : theirs) {
    if (absl::StartsWith(word, "./")) word = word.substr(2);  // accel makes paths absolute.
  }
  std::vector<std::string> words = WithoutUnbuffered(ours.command);
  // DeepSpeed's launcher adds the interpreter itself.
  if (expected["launcher"] == "deepspeed") std::erase(words, "<PYTHON>");
  EXPECT_EQ(words, WithoutUnbuffered(theirs));
}

TEST(LaunchEnv, EqualsUpstream) {
  for (const json& golden : golden_cases("launch_env.json")) {
    SCOPED_TRACE(golden["params"].dump());
    const Launched ours = Launch(golden["params"]);
    const json& expected = golden["expected"];
    if (golden.contains("upstream_defect")) ExpectBetter(ours, golden["upstream_defect"]);
    const std::set<std::string> defects = DefectFields(golden);
    if (expected.contains("error")) {
      const bool port = absl::StrContains(expected["error"].get<std::string>(), "on port");
      EXPECT_TRUE(!ours.status.ok() || port || defects.count("error") > 0) << expected["error"];
      continue;
    }
    if (golden.contains("upstream_defect") && !ours.status.ok()) continue;
    ASSERT_TRUE(ours.status.ok()) << ours.status;
    CompareEnv(golden, ours, ours.env);
    if (defects.count("command") > 0) continue;
    CompareCommand(expected, ours);
    if (defects.count("launch_config.nproc_per_node") == 0) CompareWorld(expected, ours);
  }
}

bool IsFsdpVariable(const std::string& name) {
  return absl::StartsWith(name, "FSDP_") || name == "ACCELERATE_USE_FSDP" ||
         name == "ACCELERATE_MIXED_PRECISION" || name == "ACCELERATE_USE_CPU";
}

// Accelerate accepts a size below 0, and a state that cannot be loaded again.
bool IsRefusedOnlyHere(const json& plugin) {
  if (!plugin.is_object()) return false;
  const json size = plugin.value("min_num_params", json());
  return (size.is_number() && size.get<double>() < 0) ||
         plugin.value("state_dict_type", json()) == "LOCAL_STATE_DICT";
}

TEST(LaunchEnv, EqualsUpstreamForFsdp) {
  for (const json& golden : golden_cases("fsdp_config.json")) {
    if (golden["params"].value("op", "") != "launch") continue;
    SCOPED_TRACE(golden["params"].dump());
    const Launched ours = Launch(golden["params"]);
    const json& expected = golden["expected"];
    if (golden.contains("upstream_defect")) ExpectBetter(ours, golden["upstream_defect"]);
    // What each worker would refuse is refused before any starts. The plugin may be null.
    const json plugin = expected.value("plugin", json());
    const bool refused = expected.contains("error") || plugin.contains("error");
    const bool is_defect = golden.contains("upstream_defect");
    EXPECT_TRUE(!refused || !ours.status.ok() || is_defect);
    if (IsRefusedOnlyHere(plugin)) {
      EXPECT_TRUE(IsRefused(ours, "fsdp_")) << ours.status;
      continue;
    }
    if (refused || (golden.contains("upstream_defect") && !ours.status.ok())) continue;
    ASSERT_TRUE(ours.status.ok()) << ours.status;
    Env mine;
    for (const auto& [name, value] : ours.env) {
      if (IsFsdpVariable(name)) mine[name] = value;
    }
    CompareEnv(golden, ours, mine);
    EXPECT_EQ(ours.Total(), expected["num_processes"].get<int>());
  }
}

}  // namespace
}  // namespace accel::cli
