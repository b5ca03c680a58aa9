// Identifies the caller of a method: from the kernel for the Unix socket, or from its certificate.
#pragma once

#include <grpcpp/server_context.h>

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "coordinator/access/caller.h"
#include "coordinator/access/credential_table.h"

namespace accel::coordinator {

// Thread-safe.
class IdentifyCaller {
 public:
  // Makes an object for a coordinator whose own user is named `owner`. `credentials` decides about
  // calls over TCP, and must outlive this object. If it is null, no call over TCP is valid.
  IdentifyCaller(std::string owner, const CredentialTable* credentials)
      : owner_(std::move(owner)), credentials_(credentials) {}

  // Returns the caller. UNAUTHENTICATED: the call came over TCP without a valid certificate. The
  // message says what to do.
  absl::StatusOr<Caller> operator()(const grpc::ServerContextBase& context) const;

 private:
  const std::string owner_;
  const CredentialTable* const credentials_;
};

}  // namespace accel::coordinator
