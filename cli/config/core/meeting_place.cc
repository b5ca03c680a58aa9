#include "cli/config/core/meeting_place.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/host_port.h"
#include "common/ip_address.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

constexpr char kDefaultPort[] = "29500";  // That of torchrun and Accelerate.
constexpr size_t kMaxHostBytes = 253;     // The longest name in DNS.
constexpr size_t kMaxIdBytes = 128;
constexpr int64_t kMaxTimeoutSeconds = 7 * 24 * 3600;

std::optional<int> Number(const EnvLookup& env, const char* name) {
  int number = -1;
  const auto text = env(name);
  if (!text.has_value() || !absl::SimpleAtoi(*text, &number) || number < 0) return std::nullopt;
  return number;
}

// A launcher that starts one process on each machine, and the variables that say which one.
struct Starter {
  const char* rank;
  const char* size;
};
constexpr Starter kStarters[] = {
    {"SLURM_PROCID", "SLURM_NTASKS"},                  // srun
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},  // Open MPI
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},    // MVAPICH2
    {"PMIX_RANK", "PMIX_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},  // MPICH, Intel MPI
};

// Returns the rank that a launcher has given to this machine. A launcher that started another
// number of processes than there are machines does not count machines, so its ranks are not used.
std::optional<int> RankOfStarter(const EnvLookup& env, int machines) {
  for (const Starter& starter : kStarters) {
    const auto rank = Number(env, starter.rank);
    if (rank.has_value() && *rank < machines && Number(env, starter.size) == machines) return rank;
  }
  return std::nullopt;
}

std::optional<std::string> SlurmHost(const EnvLookup& env) {
  for (const char* name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"}) {
    if (const auto list = env(name)) return FirstSlurmHost(*list);
  }
  return std::nullopt;
}

// Returns a port that depends on the step, because several jobs may share the first node and each
// needs its own port. It is below the ports that the kernel gives to outgoing connections.
std::string PortOfSlurm(const EnvLookup& env) {
  constexpr int kFirst = 15'000;
  constexpr int kPorts = 14'000;
  constexpr int kStepsApart = 7;
  const auto job = Number(env, "SLURM_JOB_ID");
  if (!job.has_value()) return kDefaultPort;
  const int step = Number(env, "SLURM_STEP_ID").value_or(0);
  return absl::StrCat(kFirst + (int64_t{*job} * kStepsApart + step) % kPorts);
}

// Without a port, as torchrun allows, the default one is meant.
absl::StatusOr<common::HostPort> ParseEndpoint(const EffectiveSettings& settings) {
  const std::string text = settings.Text("rdzv_endpoint");
  const bool is_host = !absl::StrContains(text, ':') || absl::EndsWith(text, "]");
  auto parsed = common::ParseHostPort(is_host ? absl::StrCat(text, ":", kDefaultPort) : text);
  if (!parsed.ok()) return settings.Refuse("rdzv_endpoint", parsed.status().message());
  return parsed;
}

// Fills in the address from --rdzv_endpoint, or main_process_ip and main_process_port, or Slurm.
absl::Status FindAddress(const EffectiveSettings& settings, const EnvLookup& env,
                         MeetingPlace* place) {
  const std::string endpoint = settings.Text("rdzv_endpoint");
  place->host = settings.Text("main_process_ip");
  place->port = settings.Text("main_process_port");
  if (!endpoint.empty()) {
    if (settings.IsFlagGiven("main_process_ip") || settings.IsFlagGiven("main_process_port")) {
      return settings.Refuse("rdzv_endpoint",
                             "it cannot be combined with main_process_ip or main_process_port");
    }
    ACCEL_ASSIGN_OR_RETURN(const common::HostPort parsed, ParseEndpoint(settings));
    place->host = parsed.host;
    place->port = parsed.port;
  }
  if (place->host.empty()) {
    place->host = SlurmHost(env).value_or("");
    if (place->port.empty()) place->port = PortOfSlurm(env);
  }
  if (place->host.empty()) {
    return settings.Refuse(
        "num_machines",
        "several machines need an address at which they meet: give --main_process_ip and "
        "--main_process_port, the same on each machine, or --coordinator");
  }
  if (place->port.empty()) place->port = kDefaultPort;
  const std::string name = endpoint.empty() ? "main_process_ip" : "rdzv_endpoint";
  if (place->host.size() > kMaxHostBytes) {
    return settings.Refuse(name, absl::StrCat("a host has at most ", kMaxHostBytes, " bytes"));
  }
  const auto address = common::IpAddress::Parse(place->host);
  if (address.has_value() && (address->is_wildcard() || address->is_multicast())) {
    return settings.Refuse(name, "the other machines cannot connect to it; name one machine");
  }
  int port = 0;
  if (!absl::SimpleAtoi(place->port, &port) || port < 1 || port > 65535) {
    return settings.Refuse(endpoint.empty() ? "main_process_port" : "rdzv_endpoint",
                           "the port must be a number from 1 to 65535, the same on each machine");
  }
  return absl::OkStatus();
}

bool HasGivenAddress(const EffectiveSettings& settings) {
  return !settings.Text("main_process_ip").empty() || !settings.Text("rdzv_endpoint").empty();
}

// In a file, 0 is what `accelerate config` writes on every machine, so it is no choice.
std::optional<int> GivenRank(const EffectiveSettings& settings) {
  const auto rank = settings.Int("machine_rank");
  if (!rank.has_value() || !settings.IsGiven("machine_rank")) return std::nullopt;
  if (*rank == 0 && !settings.IsFlagGiven("machine_rank")) return std::nullopt;
  return static_cast<int>(*rank);
}

}  // namespace

std::string MeetingPlace::text() const { return common::JoinHostPort(host, port); }

bool HasMeetingPlace(const EffectiveSettings& settings, const EnvLookup& env) {
  return HasGivenAddress(settings) || SlurmHost(env).has_value();
}

absl::StatusOr<MeetingPlace> FindMeetingPlace(const EffectiveSettings& settings,
                                              const EnvLookup& env, int machines) {
  MeetingPlace place;
  place.machines = machines;
  ACCEL_RETURN_IF_ERROR(FindAddress(settings, env, &place));
  place.machine_rank = GivenRank(settings);
  if (!place.machine_rank.has_value()) place.machine_rank = RankOfStarter(env, machines);
  place.id = settings.Text("rdzv_id");
  if (place.id.empty()) {
    if (const auto job = env("SLURM_JOB_ID")) place.id = *job;
    // mpirun starts the first machine's process outside of the step of the others. It needs a given
    // address, since the list of hosts is the step's.
    if (const auto step = env("SLURM_STEP_ID"); step.has_value() && !HasGivenAddress(settings)) {
      absl::StrAppend(&place.id, ".", *step);
    }
  }
  if (place.id.size() > kMaxIdBytes) {
    return settings.Refuse("rdzv_id", absl::StrCat("it has more than ", kMaxIdBytes, " bytes"));
  }
  place.trust_network = settings.Is("trust_network");
  const int64_t timeout = settings.Int("rdzv_timeout").value_or(0);
  if (timeout < 1 || timeout > kMaxTimeoutSeconds) {
    return settings.Refuse("rdzv_timeout", absl::StrCat("it must be a number of seconds from 1 to ",
                                                        kMaxTimeoutSeconds));
  }
  place.timeout = absl::Seconds(timeout);
  place.advertise = settings.Text("advertise");
  const auto ports = common::ParsePortRange(settings.Text("port_range"));
  if (!ports.ok()) return settings.Refuse("port_range", ports.status().message());
  place.ports = *ports;
  return place;
}

absl::Status CheckEndpoint(const EffectiveSettings& settings) {
  if (settings.Text("rdzv_endpoint").empty()) return absl::OkStatus();
  return ParseEndpoint(settings).status();
}

absl::StatusOr<int> MachinesOfSlurm(const EnvLookup& env) {
  // A worker of accel has Slurm's variables too, and its own launch is not the step's.
  if (env("ACCEL_GENERATION").has_value()) return 1;
  const int nodes = Number(env, "SLURM_STEP_NUM_NODES").value_or(1);
  const int tasks = Number(env, "SLURM_STEP_NUM_TASKS").value_or(nodes);
  if (!env("SLURM_PROCID").has_value() || nodes <= 1) return 1;
  if (tasks == nodes) return nodes;
  return absl::InvalidArgumentError(absl::StrCat(
      "srun has started ", tasks, " tasks on ", nodes,
      " nodes, and accel starts the processes of a node itself: use srun --ntasks=", nodes,
      " --ntasks-per-node=1, and --nproc_per_node for another number of processes"));
}

std::optional<std::string> FirstSlurmHost(const std::string& list) {
  const size_t bracket = list.find_first_of("[,");
  std::string host = list.substr(0, bracket);
  if (bracket != std::string::npos && list[bracket] == '[') {
    const size_t end = list.find_first_of("-,]", bracket + 1);
    if (end == std::string::npos) return std::nullopt;
    host += list.substr(bracket + 1, end - bracket - 1);
    // A name may continue after the bracket.
    const size_t closed = list.find(']', bracket);
    if (closed == std::string::npos) return std::nullopt;
    const size_t next = list.find_first_of("[,", closed + 1);
    if (next != std::string::npos && list[next] == '[') return std::nullopt;
    host += list.substr(closed + 1, next == std::string::npos ? next : next - closed - 1);
  }
  if (host.empty() || host.size() > kMaxHostBytes) return std::nullopt;
  return host;
}

}  // namespace accel::cli
