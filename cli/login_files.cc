#include "cli/login_files.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/status_macros.h"
#include "common/token.h"
#include "security/identity_files.h"
#include "security/principal.h"
#include "security/secret_file.h"

namespace accel::cli {
namespace {

constexpr int kMaxClusters = 1000;
constexpr char kRemedy[] = "ask an administrator for a key, and run: accel login";

absl::StatusOr<std::string> ConfigFolder() {
  ACCEL_ASSIGN_OR_RETURN(const std::string token, common::DefaultTokenPath());
  return std::string(std::filesystem::path(token).parent_path());
}

}  // namespace

absl::StatusOr<std::string> ClustersFolder() {
  ACCEL_ASSIGN_OR_RETURN(const std::string folder, ConfigFolder());
  return folder + "/clusters";
}

absl::StatusOr<std::string> DefaultCoordinator() {
  ACCEL_ASSIGN_OR_RETURN(const std::string folder, ConfigFolder());
  ACCEL_ASSIGN_OR_RETURN(const std::string text,
                         security::ReadSecretFile(folder + "/default_cluster"));
  const std::string cluster(absl::StripAsciiWhitespace(text));
  ACCEL_RETURN_IF_ERROR(
      security::CheckPrincipalName(folder + "/default_cluster: the cluster's id", cluster));
  return security::IdentityFiles(absl::StrCat(folder, "/clusters/", cluster), "user")
      .ReadCoordinator();
}

absl::Status SetDefaultCluster(const std::string& cluster) {
  ACCEL_ASSIGN_OR_RETURN(const std::string folder, ConfigFolder());
  return security::WriteSecretFile(folder + "/default_cluster", cluster + "\n");
}

absl::StatusOr<security::ClientIdentity> FindLogin(const std::string& address) {
  ACCEL_ASSIGN_OR_RETURN(const std::string clusters, ClustersFolder());
  std::error_code error;
  int seen = 0;
  for (std::filesystem::directory_iterator each(clusters, error), end; !error && each != end;
       each.increment(error)) {
    if (++seen > kMaxClusters) break;
    const security::IdentityFiles files(each->path(), "user");
    const absl::StatusOr<std::string> coordinator = files.ReadCoordinator();
    if (!coordinator.ok() || *coordinator != address) continue;
    ACCEL_ASSIGN_OR_RETURN(security::ClientIdentity identity, files.Read());
    ACCEL_RETURN_IF_ERROR(security::CheckIdentity(identity, kRemedy, absl::Now()));
    return identity;
  }
  return absl::NotFoundError(
      absl::StrCat("you have not logged in to the coordinator at ", address, "; ", kRemedy));
}

}  // namespace accel::cli
