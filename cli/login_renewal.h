// Renews a user's certificate: a command that finds it a third of its life old does so after its
// call. Many commands may run at the same time, also on machines that share the home directory.
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
// the last hour. It is also due if the coordinator has named other authorities at the end of a call
// (security::IsOutdated()), and no other command has tried within the last minute. Returns OK if
// there was nothing to do, or the certificate was renewed. Errors are those of
// security::RenewIdentity(), and of the lock's file.
absl::Status RenewLogin(const Login& login, absl::Time wall, const std::string& named,
                        security::AskForCertificate ask);

// Returns a lock on a login. No renewal changes it while it is held. Waits for one that is in
// progress, which lasts seconds at most. Errors are those of the lock's file, which is beside the
// folder.
absl::StatusOr<common::UniqueFd> LockLogin(const std::string& folder);

}  // namespace accel::cli
