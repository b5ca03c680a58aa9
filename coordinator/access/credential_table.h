// The table that decides who the holder of a certificate is. A certificate names its holder and has
// a serial. The role of the holder, and whether the certificate is still valid, are read from the
// table for each call. A revocation or a new role therefore takes effect with the next call.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/access/caller.h"

namespace accel::coordinator {

// Thread-safe. Find() runs for each call on the thread of its queue, so it must not wait for the
// disk.
class CredentialTable {
 public:
  virtual ~CredentialTable() = default;

  // Returns the caller to whom the certificate with this serial was issued. `certificate` is the
  // one that the caller has shown, in PEM as OpenSSL writes it. The cluster's CA has signed it.
  // UNAUTHENTICATED: the serial is unknown, was issued with another certificate, or its certificate
  // is revoked, replaced or expired, or has made room for another one. The message says which of
  // these is true and what the holder must do. It is sent to the holder.
  virtual absl::StatusOr<Caller> Find(const std::string& serial,
                                      absl::string_view certificate) const = 0;
  // Returns the caller to whom the certificate with this serial was issued, for the audit log. A
  // certificate that is no longer valid is found too, so the result must not be used to admit a
  // caller. nullopt if the table has no such serial, or no longer has it.
  virtual std::optional<Caller> HolderOf(const std::string& serial) const = 0;
};

}  // namespace accel::coordinator
