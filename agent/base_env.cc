#include "agent/base_env.h"

#include <unistd.h>

#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/worker_env.h"

namespace accel::agent {
namespace {

constexpr char kLoginPath[] = "/usr/local/bin:/usr/bin:/bin";

}  // namespace

std::vector<std::string> BaseEnv() {
  std::vector<std::string> env;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string pair = *variable;
    const std::string name = pair.substr(0, pair.find('='));
    if (name == "ACCEL_SHIM" || name == "ACCEL_COORDINATOR") continue;
    if (name == "ACCEL_LOGIN" || name == "ACCEL_LAUNCH_KEY" || name == "ACCEL_LAUNCH_KEY_FILE")
      continue;
    if (name == common::kEnvAccelTerminal || name == common::kEnvAccelReportSocket ||
        name == common::kEnvAccelBeatSocket) {
      continue;
    }
    if (common::IsRankVariable(name)) continue;
    env.push_back(pair);
  }
  return env;
}

std::vector<std::string> UserBaseEnv(const process::Account& user,
                                     const std::set<std::string>& pass) {
  const std::string home = user.home.empty() ? "/" : user.home;
  const std::string shell = user.shell.empty() ? "/bin/sh" : user.shell;
  std::map<std::string, std::string> env = {
      {"PATH", kLoginPath},   {"HOME", home},   {"USER", user.name},
      {"LOGNAME", user.name}, {"SHELL", shell},
  };
  for (const std::string& pair : BaseEnv()) {
    const size_t equals = pair.find('=');
    const std::string name = pair.substr(0, equals);
    const bool is_usual = name == "LANG" || name == "TZ";
    if (equals != std::string::npos && (is_usual || pass.contains(name))) {
      env[name] = pair.substr(equals + 1);
    }
  }
  std::vector<std::string> pairs;
  for (const auto& [name, value] : env) pairs.push_back(absl::StrCat(name, "=", value));
  return pairs;
}

}  // namespace accel::agent
