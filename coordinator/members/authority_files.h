// The files of a cluster's authority in the coordinator's state directory, mode 0600:
//
// clang-format off
//   STATE_DIR/ca.crt       the certificate; after a rotation, followed by the private key
//   STATE_DIR/ca.key       the private key, if ca.crt does not have it
//   STATE_DIR/cluster_id   the cluster's name in all certificates
//   STATE_DIR/ca.next      during a rotation: the new certificate, followed by the new private key
// clang-format on
//
// The holder of a private key can make certificates of this cluster. Each step of a rotation is one
// rename, so a crash leaves the state before it or after it (docs/decisions/0079). The command
// `accel-coordinator rotate-ca` makes the steps. A running coordinator notices the changed
// files and follows.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/members/cluster_authority.h"

namespace accel::coordinator {

// Reads the authority. Errors:
//
// * NOT_FOUND: no coordinator has run with this directory.
// * FAILED_PRECONDITION: a file is missing, damaged, unsafe, or does not belong to the others. The
//   message names the file and says what to do.
// * ABORTED: the files changed during each of ten attempts.
// * Others: a file cannot be read.
absl::StatusOr<ClusterAuthority> ReadAuthority(const std::string& state_dir);

// Does the same, and deletes a key that an interrupted step has left. If there is no authority,
// makes one for the cluster `cluster_id`, which happens at a cluster's first start. INTERNAL:
// OpenSSL failed. Other errors are those of ReadAuthority() and of writing files.
absl::StatusOr<ClusterAuthority> ReadOrMakeAuthority(const std::string& state_dir,
                                                     const std::string& cluster_id,
                                                     absl::Time wall);

// Begins a rotation of `authority`, which must be that of the files and not be rotating. Returns
// the authority that the files then have. Only one process may change the files at a time.
// INTERNAL: OpenSSL failed. Other errors are those of writing files.
absl::StatusOr<ClusterAuthority> BeginRotation(const std::string& state_dir,
                                               const ClusterAuthority& authority, absl::Time wall);

// Finishes the rotation by deleting the former authority. If no rotation is in progress, completes
// an earlier call that was interrupted. Errors are those of the disk.
absl::Status FinishRotation(const std::string& state_dir);

// Returns a text that changes whenever the files change, either by a step of a rotation or
// by a person.
std::string AuthorityStamp(const std::string& state_dir);

}  // namespace accel::coordinator
