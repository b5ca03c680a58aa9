#include "runtime/core/environment.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "common/worker_env.h"

namespace accel::runtime {
namespace {

constexpr int kMaxInt = std::numeric_limits<int>::max();

// An empty variable counts as unset, as in PyTorch.
std::optional<std::string> find(const GetEnv& get, const char* name) {
  std::optional<std::string> value = get(name);
  if (value && value->empty()) return std::nullopt;
  return value;
}

int parse_int(const char* name, const std::string& text, int least, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    throw std::invalid_argument(
        std::string(name) + "=\"" + text + "\" should be a number " +
        (most == kMaxInt ? "of at least " + std::to_string(least)
                         : "from " + std::to_string(least) + " to " + std::to_string(most)));
  }
  return value;
}

int find_int(const GetEnv& get, const char* name, int otherwise, int least, int most) {
  const std::optional<std::string> text = find(get, name);
  return text ? parse_int(name, *text, least, most) : otherwise;
}

bool find_bool(const GetEnv& get, const char* name, bool otherwise = false) {
  const std::optional<std::string> text = find(get, name);
  if (!text) return otherwise;
  std::string lower = *text;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  for (std::string_view yes : {"1", "true", "yes", "y", "t", "on"}) {
    if (lower == yes) return true;
  }
  for (std::string_view no : {"0", "false", "no", "n", "f", "off"}) {
    if (lower == no) return false;
  }
  throw std::invalid_argument(std::string(name) + "=\"" + *text + "\" should be true or false");
}

std::optional<MixedPrecision> find_mixed_precision(const GetEnv& get) {
  const std::optional<std::string> precision = find(get, common::kEnvMixedPrecision);
  if (!precision) return std::nullopt;
  try {
    return precision_named(*precision);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(std::string(common::kEnvMixedPrecision) + ": " + error.what());
  }
}

// Returns true if the variables of a world are set, and false if none of them is. Throws if only
// some are set, because the process would not know for which ranks to wait.
bool has_world(const GetEnv& get) {
  constexpr std::array<const char*, 4> kNames = {common::kEnvRank, common::kEnvWorldSize,
                                                 common::kEnvLocalRank, common::kEnvLocalWorldSize};
  std::string present, missing;
  for (const char* name : kNames) {
    std::string& list = find(get, name) ? present : missing;
    if (!list.empty()) list += ", ";
    list += name;
  }
  if (present.empty()) return false;
  if (missing.empty()) return true;
  throw std::invalid_argument(
      "the environment has " + present + " but not " + missing +
      ": start the program with `accel launch` or torchrun, or unset them for one process");
}

void parse_world(const GetEnv& get, Environment& out) {
  out.world_size = parse_int(common::kEnvWorldSize, *find(get, common::kEnvWorldSize), 1, kMaxInt);
  out.rank = parse_int(common::kEnvRank, *find(get, common::kEnvRank), 0, out.world_size - 1);
  out.local_world_size = parse_int(common::kEnvLocalWorldSize,
                                   *find(get, common::kEnvLocalWorldSize), 1, out.world_size);
  out.local_rank = parse_int(common::kEnvLocalRank, *find(get, common::kEnvLocalRank), 0,
                             out.local_world_size - 1);
  out.restart_count = find_int(get, common::kEnvElasticRestartCount, 0, 0, kMaxInt);
  out.launcher_serves_store = find(get, common::kEnvElasticUseAgentStore) == "True";
  if (out.world_size == 1) return;
  const std::optional<std::string> address = find(get, common::kEnvMasterAddr);
  const std::optional<std::string> port = find(get, common::kEnvMasterPort);
  if (!address || !port) {
    throw std::invalid_argument(
        std::string(address ? common::kEnvMasterPort : common::kEnvMasterAddr) +
        " is missing for a world of " + std::to_string(out.world_size) + " processes");
  }
  out.master_addr = *address;
  out.master_port = static_cast<std::uint16_t>(parse_int(common::kEnvMasterPort, *port, 1, 65535));
}

}  // namespace

Environment parse_environment(const GetEnv& get) {
  Environment out;
  out.mixed_precision = find_mixed_precision(get);
  if (has_world(get)) parse_world(get, out);
  out.use_cpu = find_bool(get, common::kEnvUseCpu);
  out.debug = find_bool(get, common::kEnvDebugMode);
  if (const auto steps = find(get, common::kEnvGradientAccumulationSteps)) {
    out.gradient_accumulation_steps =
        parse_int(common::kEnvGradientAccumulationSteps, *steps, 1, kMaxInt);
  }
  out.gloo_interfaces = find(get, common::kEnvGlooInterface).value_or("");
  out.shared_memory = find_bool(get, common::kEnvAccelSharedMemory, true);
  out.terminal_columns = find_int(get, common::kEnvAccelTerminal, 0, 1, 65535);
  out.job_id = find(get, common::kEnvAccelJobId).value_or("");
  out.report_socket = find(get, common::kEnvAccelReportSocket).value_or("");
  out.generation =
      static_cast<std::uint64_t>(find_int(get, common::kEnvAccelGeneration, 0, 0, kMaxInt));
  return out;
}

}  // namespace accel::runtime
