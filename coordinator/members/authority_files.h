// The files of a cluster's authority in the coordinator's state directory, mode 0600:
//
// clang-format off
//   STATE_DIR/ca.crt       the certificate. After a rotation, the private key follows it
//   STATE_DIR/ca.key       the private key, if ca.crt does not have it. Its holder can make certificates of this cluster
//   STATE_DIR/cluster_id   the cluster's name in all certificates
//   STATE_DIR/ca.next      during a rotation: the certificate of the new authority and its private key
// clang-format on
//
// Each step of a rotation is one rename, so a crash leaves the state before it or after it
// (docs/decisions/0079). The command `accel-coordinator rotate-ca` makes the steps, and a
// coordinator that runs follows the files.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/members/cluster_authority.h"

namespace accel::coordinator {

// Reads the authority. NOT_FOUND: no coordinator has run with this directory.
// FAILED_PRECONDITION: a file is missing, damaged or readable by others, or they do not belong
// together; the message says which and what to do. Others: the disk's.
absl::StatusOr<ClusterAuthority> ReadAuthority(const std::string& state_dir);

// The same, but makes the authority there for the cluster `cluster_id`, at a cluster's first start.
// INTERNAL: OpenSSL failed.
absl::StatusOr<ClusterAuthority> ReadOrMakeAuthority(const std::string& state_dir,
                                                     const std::string& cluster_id,
                                                     absl::Time wall);

// Begins a rotation of `authority`, which must be that of the files and not be rotating. Only one
// process may change the files at a time. Returns what the files have then. Errors as above.
absl::StatusOr<ClusterAuthority> BeginRotation(const std::string& state_dir,
                                               const ClusterAuthority& authority, absl::Time wall);

// Finishes the rotation: the former authority is deleted. Without a rotation, completes a former
// attempt that was interrupted. Errors are the disk's.
absl::Status FinishRotation(const std::string& state_dir);

// Returns a text that changes whenever a step, or a person, changes the files.
std::string AuthorityStamp(const std::string& state_dir);

}  // namespace accel::coordinator
