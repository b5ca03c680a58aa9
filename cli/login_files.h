// The files of a user's logins. Certificates are in ~/.config/accel/clusters/CLUSTER/
// (security/identity_files.h). ~/.config/accel/default_cluster has the name of the cluster of
// the last login.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "security/client_identity.h"

namespace accel::cli {

// Returns the folder of the user's clusters. FAILED_PRECONDITION: there is no home directory.
absl::StatusOr<std::string> ClustersFolder();

// Returns HOST:PORT of the default cluster's coordinator. NOT_FOUND: the user has not logged in
// to any cluster.
absl::StatusOr<std::string> DefaultCoordinator();
absl::Status SetDefaultCluster(const std::string& cluster);

struct Login {
  std::string folder;  // The files of the identity: security::IdentityFiles(folder, "user").
  security::ClientIdentity identity;
};

// Returns a valid login of the user for the coordinator at `address`. It is the login of the
// cluster whose coordinator has this address, or else of the default cluster. NOT_FOUND: the user
// has not logged in to this cluster. Other errors: the files are damaged or readable by other
// users, or the certificate has expired. The message says what to do.
absl::StatusOr<Login> FindLogin(const std::string& address);

// Reads the identity of a login again. Errors are those of FindLogin().
absl::StatusOr<security::ClientIdentity> ReadLogin(const std::string& folder);

}  // namespace accel::cli
