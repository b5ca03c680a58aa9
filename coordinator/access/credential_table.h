// The table that decides whom a certificate stands for. A certificate only carries a serial and a
// name. Its holder's role, and whether it is still valid, are read here for each call, so that a
// revocation or a new role holds for the next call.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/access/caller.h"

namespace accel::coordinator {

// Thread-safe. Find() runs on gRPC's threads for each call, so it must not wait for the disk.
class CredentialTable {
 public:
  virtual ~CredentialTable() = default;

  // Returns the caller whose certificate has this serial. `certificate` is the one that the caller
  // has shown, in PEM, as OpenSSL writes it, which the cluster's CA has signed. UNAUTHENTICATED:
  // the serial is unknown, revoked or expired, or was given to another certificate. The message
  // says which, and what its holder must do. It is sent to the holder.
  virtual absl::StatusOr<Caller> Find(const std::string& serial,
                                      absl::string_view certificate) const = 0;
  // Returns to whom the certificate with this serial was given, for the audit log. nullopt if that
  // is no longer known. A caller is not admitted by this.
  virtual std::optional<Caller> HolderOf(const std::string& serial) const = 0;
};

}  // namespace accel::coordinator
