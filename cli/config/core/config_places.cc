#include "cli/config/core/config_places.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace accel::cli {
namespace {

using Env = std::function<std::optional<std::string>(const std::string& name)>;

// Replaces a leading ~ by the home folder.
std::string Expanded(const std::string& path, const Env& env) {
  if (path != "~" && !absl::StartsWith(path, "~/")) return path;
  return absl::StrCat(env("HOME").value_or(""), absl::string_view(path).substr(1));
}

}  // namespace

std::string DefaultConfigPath(const Env& env) {
  std::string home = absl::StrCat(env("XDG_CACHE_HOME").value_or("~/.cache"), "/huggingface");
  if (const auto hf_home = env("HF_HOME")) home = *hf_home;
  return absl::StrCat(Expanded(home, env), "/accelerate/default_config.yaml");
}

std::string DefaultJsonConfigPath(const Env& env) {
  const std::string yaml = DefaultConfigPath(env);
  return absl::StrCat(absl::StripSuffix(yaml, "yaml"), "json");
}

}  // namespace accel::cli
