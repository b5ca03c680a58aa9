#include "cli/login_files.h"

#include <filesystem>
#include <system_error>
#include <utility>

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

// Returns the id of the cluster that was logged in to last. NOT_FOUND: there is none.
absl::StatusOr<std::string> DefaultCluster() {
  ACCEL_ASSIGN_OR_RETURN(const std::string folder, ConfigFolder());
  ACCEL_ASSIGN_OR_RETURN(const std::string text,
                         security::ReadSecretFile(folder + "/default_cluster"));
  std::string cluster(absl::StripAsciiWhitespace(text));
  ACCEL_RETURN_IF_ERROR(
      security::CheckPrincipalName(folder + "/default_cluster: the cluster's id", cluster));
  return cluster;
}

}  // namespace

absl::StatusOr<std::string> ClustersFolder() {
  ACCEL_ASSIGN_OR_RETURN(const std::string folder, ConfigFolder());
  return folder + "/clusters";
}

absl::StatusOr<std::string> DefaultCoordinator() {
  ACCEL_ASSIGN_OR_RETURN(const std::string clusters, ClustersFolder());
  ACCEL_ASSIGN_OR_RETURN(const std::string cluster, DefaultCluster());
  return security::IdentityFiles(absl::StrCat(clusters, "/", cluster), "user").ReadCoordinator();
}

absl::Status SetDefaultCluster(const std::string& cluster) {
  ACCEL_ASSIGN_OR_RETURN(const std::string folder, ConfigFolder());
  return security::WriteSecretFile(folder + "/default_cluster", cluster + "\n");
}

absl::StatusOr<security::ClientIdentity> ReadLogin(const std::string& folder) {
  ACCEL_ASSIGN_OR_RETURN(security::ClientIdentity identity,
                         security::IdentityFiles(folder, "user").Read());
  ACCEL_RETURN_IF_ERROR(security::CheckIdentity(identity, kRemedy, absl::Now()));
  return identity;
}

absl::StatusOr<Login> FindLogin(const std::string& address) {
  ACCEL_ASSIGN_OR_RETURN(const std::string clusters, ClustersFolder());
  std::error_code error;
  int seen = 0;
  for (std::filesystem::directory_iterator each(clusters, error), end; !error && each != end;
       each.increment(error)) {
    if (++seen > kMaxClusters) break;
    const security::IdentityFiles files(each->path(), "user");
    const absl::StatusOr<std::string> coordinator = files.ReadCoordinator();
    if (!coordinator.ok() || *coordinator != address) continue;
    ACCEL_ASSIGN_OR_RETURN(security::ClientIdentity identity, ReadLogin(each->path()));
    return Login{each->path(), std::move(identity)};
  }
  // The coordinator may be reached by another address too, for example through a tunnel. It proves
  // that it is the one of the cluster in any case.
  if (const auto cluster = DefaultCluster(); cluster.ok()) {
    const std::string folder = absl::StrCat(clusters, "/", *cluster);
    if (security::IdentityFiles(folder, "user").Read().ok()) {
      ACCEL_ASSIGN_OR_RETURN(security::ClientIdentity identity, ReadLogin(folder));
      return Login{folder, std::move(identity)};
    }
  }
  return absl::NotFoundError(
      absl::StrCat("you have not logged in to the coordinator at ", address, "; ", kRemedy));
}

}  // namespace accel::cli
