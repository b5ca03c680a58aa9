#include "cli/report/env_command.h"

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "agent/probe/gpus.h"
#include "cli/config/core/config_places.h"
#include "cli/config/core/write_config.h"
#include "cli/config/host_facts.h"
#include "cli/config/load_config.h"
#include "cli/json_object.h"
#include "cli/program.h"
#include "cli/render/escape.h"
#include "cli/report/python_packages.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "process/cgroup.h"

namespace accel::cli {
namespace {

using Facts = std::vector<std::pair<std::string, std::string>>;

// The facts that are numbers.
struct Measures {
  uint64_t processors = 0;
  uint64_t cores = 0;
  uint64_t memory_bytes = 0;
  absl::StatusOr<std::vector<v1::Gpu>> gpus;
  std::set<int> visible_gpus;  // Indices.
  // By the name in JSON and in the text. nullopt if there is no limit.
  struct Limit {
    const char* name;
    const char* text;
    std::optional<uint64_t> most;
  };
  std::vector<Limit> limits;
};

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string Gigabytes(double bytes) { return absl::StrFormat("%.2f GB", bytes / (1 << 30)); }

Measures Measure(const CallerContext& context) {
  Measures measures;
  measures.processors = static_cast<uint64_t>(sysconf(_SC_NPROCESSORS_ONLN));
  measures.cores = static_cast<uint64_t>(CountPhysicalCores("/sys/devices/system/cpu"));
  measures.memory_bytes =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  measures.gpus = agent::ListGpus();
  if (measures.gpus.ok()) {
    for (const v1::Gpu& gpu :
         agent::VisibleGpus(*measures.gpus, context.env(common::kEnvCudaVisibleDevices))) {
      measures.visible_gpus.insert(gpu.index());
    }
  }
  const std::tuple<const char*, const char*, int> limits[] = {
      {"open_files", "Limit of open files", RLIMIT_NOFILE},
      {"processes", "Limit of processes", RLIMIT_NPROC},
      {"locked_memory_bytes", "Limit of locked memory", RLIMIT_MEMLOCK}};
  for (const auto& [name, text, resource] : limits) {
    rlimit limit = {};
    if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) continue;
    const bool is_limited = limit.rlim_cur != RLIM_INFINITY;
    measures.limits.push_back({name, text,
                               is_limited
                                   ? std::optional<uint64_t>(static_cast<uint64_t>(limit.rlim_cur))
                                   : std::nullopt});
  }
  return measures;
}

void AddMachine(const Measures& measures, Facts* facts) {
  utsname name = {};
  uname(&name);
  facts->emplace_back("Platform", absl::StrCat(name.sysname, " ", name.release, " ", name.machine));
  std::ifstream release("/etc/os-release");
  for (std::string line; std::getline(release, line);) {
    absl::string_view rest = line;
    if (!absl::ConsumePrefix(&rest, "PRETTY_NAME=\"")) continue;
    facts->emplace_back("System", std::string(rest.substr(0, rest.rfind('"'))));
  }
  facts->emplace_back("Processors",
                      absl::StrCat(measures.processors, " (", measures.cores, " cores)"));
  facts->emplace_back("System RAM", Gigabytes(static_cast<double>(measures.memory_bytes)));
}

void AddGpus(const Measures& measures, Facts* facts) {
  const std::string driver = FirstLine("/sys/module/nvidia/version");
  facts->emplace_back("NVIDIA driver", driver.empty() ? "not loaded" : driver);
  const auto& gpus = measures.gpus;
  if (!gpus.ok()) {
    facts->emplace_back("GPUs", std::string(gpus.status().message()));
    return;
  }
  facts->emplace_back("GPUs",
                      absl::StrCat(measures.visible_gpus.size(), " of ", gpus->size(), " visible"));
  for (const v1::Gpu& gpu : *gpus) {
    facts->emplace_back(
        absl::StrCat("GPU ", gpu.index()),
        absl::StrCat(gpu.name(), ", ", Gigabytes(static_cast<double>(gpu.memory_bytes()))));
  }
}

void AddPython(const CallerContext& context, Facts* facts) {
  const auto program = ResolveProgram({.words = {"x.py"}}, context);
  if (!program.ok()) return;
  const std::string& python = program->argv[0];
  const std::string version = VenvPythonVersion(python);
  facts->emplace_back("Python", absl::StrCat(python, version.empty() ? "" : ", ", version));
  for (const auto& [name, number] : PackageVersions(python)) facts->emplace_back(name, number);
}

void AddLimits(const Measures& measures, Facts* facts) {
  for (const auto& limit : measures.limits) {
    facts->emplace_back(limit.text,
                        limit.most.has_value() ? absl::StrCat(*limit.most) : "unlimited");
  }
}

// Adds the variables that change what accel or workers do. The token is a secret.
void AddVariables(const CallerContext& context, Facts* facts) {
  for (const char* name :
       {"ACCEL_COORDINATOR", "ACCEL_SHIM", "ACCEL_CGROUP", "ACCEL_SHARED_MEMORY", "HF_HOME",
        "XDG_CACHE_HOME", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "NCCL_DEBUG",
        "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "LD_LIBRARY_PATH"}) {
    if (const auto value = context.env(name)) facts->emplace_back(absl::StrCat("$", name), *value);
  }
}

Facts AllFacts(const Measures& measures, const CallerContext& context) {
  Facts facts = {{"accel", common::kVersion}};
  AddMachine(measures, &facts);
  AddGpus(measures, &facts);
  AddPython(context, &facts);
  facts.emplace_back("Control groups", process::ProbeCgroups().description);
  AddLimits(measures, &facts);
  AddVariables(context, &facts);
  return facts;
}

std::string GpusJson(const Measures& measures) {
  if (!measures.gpus.ok()) return "[]";
  std::vector<std::string> gpus;
  for (const v1::Gpu& gpu : *measures.gpus) {
    gpus.push_back(JsonObject()
                       .Number("index", static_cast<uint64_t>(gpu.index()))
                       .Text("name", gpu.name())
                       .Number("memory_bytes", static_cast<uint64_t>(gpu.memory_bytes()))
                       .Bool("visible", measures.visible_gpus.count(gpu.index()) > 0)
                       .Print());
  }
  return absl::StrCat("[", absl::StrJoin(gpus, ", "), "]");
}

void PrintJson(const Measures& measures, const Facts& facts,
               const absl::StatusOr<std::optional<ConfigFile>>& file, const Console& console) {
  JsonObject named;
  for (const auto& [name, value] : facts) named.Text(name, value);
  JsonObject report = JsonObject::Versioned();
  report.Json("facts", named.Print());
  JsonObject limits;
  for (const auto& limit : measures.limits) {
    limits.Json(limit.name, limit.most.has_value() ? absl::StrCat(*limit.most) : "null");
  }
  report.Number("processors", measures.processors)
      .Number("cores", measures.cores)
      .Number("memory_bytes", measures.memory_bytes)
      .Json("gpus", GpusJson(measures))
      .Json("limits", limits.Print());
  if (!file.ok()) {
    report.Text("configuration_error", file.status().message());
  } else if (file->has_value()) {
    report.Text("configuration_file", (*file)->path)
        .Text("configuration", WriteConfig("yaml", (*file)->settings));
  }
  console.out << report.Print() << "\n";
}

void PrintText(const Facts& facts, const absl::StatusOr<std::optional<ConfigFile>>& file,
               const CallerContext& context, const Console& console) {
  console.out << "Copy this into your report:\n\n";
  for (const auto& [name, value] : facts) {
    console.out << "- " << name << ": " << EscapeControls(value) << "\n";
  }
  console.out << "- Configuration: ";
  if (!file.ok()) {
    console.out << EscapeControls(file.status().message()) << "\n";
  } else if (file->has_value()) {
    console.out << (*file)->path << "\n" << WriteConfig("yaml", (*file)->settings);
  } else {
    console.out << "none; the default file would be " << DefaultConfigPath(context.env) << "\n";
  }
}

absl::Status Report(const std::string& config_file, bool json, const Console& console) {
  ACCEL_ASSIGN_OR_RETURN(const CallerContext context, RealCallerContext());
  const auto file = LoadConfig(config_file, /*cpu=*/false, context.env);
  const Measures measures = Measure(context);
  const Facts facts = AllFacts(measures, context);
  if (json) {
    PrintJson(measures, facts, file, console);
  } else {
    PrintText(facts, file, context, console);
  }
  return file.ok() || config_file.empty() ? absl::OkStatus() : file.status();
}

}  // namespace

int RunEnv(const std::vector<std::string>& args, const Console& console) {
  std::string config_file;
  bool json = false;
  FlagSet flags("accel env", "[flags]",
                "Prints what a report of a problem needs: versions, GPUs, driver, NCCL, control "
                "groups, limits and the configuration. Starts no Python.");
  flags.Text("config_file", "FILE", "the configuration to print (default: the default file)",
             &config_file);
  flags.Switch("json", "print JSON (docs/json.md)", &json);
  flags.Footer("Exit codes: 0 done, 2 wrong usage or a wrong file.");
  if (const auto over = ParseOrExplain(flags, args, console)) return *over;
  const absl::Status done = Report(config_file, json, console);
  return done.ok() ? kExitOk : Fail(console, done);
}

}  // namespace accel::cli
