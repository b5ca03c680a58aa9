#include "agent/base_env.h"

#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "common/worker_env.h"

namespace accel::agent {

std::vector<std::string> BaseEnv() {
  std::vector<std::string> env;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string pair = *variable;
    const std::string name = pair.substr(0, pair.find('='));
    if (name == "ACCEL_TOKEN" || name == "ACCEL_SHIM" || name == "ACCEL_COORDINATOR") continue;
    if (name == "ACCEL_LOGIN" || name == "ACCEL_LAUNCH_KEY" || name == "ACCEL_LAUNCH_KEY_FILE")
      continue;
    if (name == common::kEnvAccelTerminal || name == common::kEnvAccelReportSocket) continue;
    if (common::IsRankVariable(name)) continue;
    env.push_back(pair);
  }
  return env;
}

}  // namespace accel::agent
