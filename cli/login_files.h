// Where a user's certificates are: ~/.config/accel/clusters/CLUSTER/ (security/identity_files.h),
// and ~/.config/accel/default_cluster, which names the one that was logged in to last.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "security/client_identity.h"

namespace accel::cli {

// Returns the folder of the user's clusters. FAILED_PRECONDITION: there is no home directory.
absl::StatusOr<std::string> ClustersFolder();

// Returns HOST:PORT of the default cluster's coordinator. NOT_FOUND: the user has logged in
// nowhere.
absl::StatusOr<std::string> DefaultCoordinator();
absl::Status SetDefaultCluster(const std::string& cluster);

struct Login {
  std::string folder;  // The files of the identity: security::IdentityFiles(folder, "user").
  security::ClientIdentity identity;
};

// Returns the user's login for the coordinator at `address`, which can be used now: that of the
// cluster whose coordinator has this address, or else of the default cluster. NOT_FOUND:
// the user has not logged in there. Others: the files are damaged or readable by others, or the
// certificate has expired; the message says what to do.
absl::StatusOr<Login> FindLogin(const std::string& address);

// Reads the identity of a login again. Errors: as FindLogin().
absl::StatusOr<security::ClientIdentity> ReadLogin(const std::string& folder);

}  // namespace accel::cli
