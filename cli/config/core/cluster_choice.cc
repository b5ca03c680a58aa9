#include "cli/config/core/cluster_choice.h"

#include "absl/strings/str_cat.h"

namespace accel::cli {
namespace {

constexpr const char* kAddresses[] = {"main_process_ip", "rdzv_endpoint"};

bool Has(const EffectiveSettings& settings, absl::string_view name) {
  return !settings.Text(name).empty();
}

}  // namespace

bool NamesCoordinator(const EnvLookup& env) {
  return !env("ACCEL_COORDINATOR").value_or("").empty();
}

bool IsForCluster(const EffectiveSettings& settings, const EnvLookup& env, int64_t machines) {
  if (settings.IsGiven("coordinator")) return true;
  return machines > 1 && NamesCoordinator(env);
}

absl::Status CheckClusterChoice(const EffectiveSettings& settings) {
  if (!settings.IsGiven("coordinator")) return absl::OkStatus();
  for (const char* name : kAddresses) {
    if (!Has(settings, name)) continue;
    if (settings.IsFlagGiven("coordinator") && !settings.IsFlagGiven(name)) continue;
    return settings.Refuse(
        name, absl::StrCat("it is for machines that meet without a coordinator, and ",
                           settings.Name("coordinator"), " is given too; remove one of them"));
  }
  return absl::OkStatus();
}

std::vector<std::string> NotesOnAddresses(const EffectiveSettings& settings, bool on_cluster,
                                          int64_t machines) {
  std::vector<std::string> notes;
  for (const char* name : kAddresses) {
    if (!Has(settings, name)) continue;
    if (on_cluster) {
      const char* const coordinator =
          settings.IsGiven("coordinator") ? "--coordinator" : "ACCEL_COORDINATOR";
      notes.push_back(absl::StrCat(settings.Name(name), " has no effect, because ", coordinator,
                                   " names a cluster"));
    } else if (machines == 1 && settings.IsFlagGiven(name)) {
      notes.push_back(absl::StrCat("--", name, " has no effect on one machine"));
    }
  }
  return notes;
}

}  // namespace accel::cli
