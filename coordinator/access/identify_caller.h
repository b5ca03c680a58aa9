// Finds out who makes a call: from the kernel for the Unix socket, or from what the call carries.
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
  // `owner` is the name of the coordinator's own user. `token` is what calls over TCP must carry.
  // If it is empty, no call over TCP is valid.
  // `credentials` decides about calls over TLS, and must outlive this object. If it is null, no
  // call over TLS is valid.
  IdentifyCaller(std::string owner, std::string token, const CredentialTable* credentials)
      : owner_(std::move(owner)), token_(std::move(token)), credentials_(credentials) {}

  // UNAUTHENTICATED: the call came over TCP without the token, or over TLS with a certificate that
  // is not valid; the message says what to do.
  absl::StatusOr<Caller> operator()(const grpc::ServerContextBase& context) const;

 private:
  const std::string owner_;
  const std::string token_;
  const CredentialTable* const credentials_;
};

}  // namespace accel::coordinator
