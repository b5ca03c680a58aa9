// Renews a user's certificate. A command does this after its call, if a third of the
// certificate's life is over. Many commands may run at the same time, even on several machines
// that share the home directory.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/login_files.h"
#include "common/unique_fd.h"
#include "security/renew_identity.h"

namespace accel::cli {

// Renews the certificate of a login if it is due at `wall`, and no other command has tried within
// the last hour. A renewal is also due if the coordinator has named other authorities
// (security::IsOutdated()). Then no other command must have tried within the last minute. Returns
// OK if there was nothing to do, or the certificate was renewed. Errors are those of
// security::RenewIdentity(), and of the lock's file.
absl::Status RenewLogin(const Login& login, absl::Time wall, const std::string& named,
                        security::AskForCertificate ask);

// Returns a lock on a login. While the lock is held, no renewal changes the login. Waits for a
// renewal that is in progress, which takes at most seconds. Errors are those of the lock's file,
// which is next to the folder.
absl::StatusOr<common::UniqueFd> LockLogin(const std::string& folder);

}  // namespace accel::cli
