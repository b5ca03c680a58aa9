// Finds out who makes a call: from the kernel for the Unix socket, or by its certificate.
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
  // `owner` is the name of the coordinator's own user. `credentials` decides about calls over TCP,
  // and must outlive this object. If it is null, no call over TCP is valid.
  IdentifyCaller(std::string owner, const CredentialTable* credentials)
      : owner_(std::move(owner)), credentials_(credentials) {}

  // UNAUTHENTICATED: the call came over TCP with a certificate that is not valid; the message says
  // what to do.
  absl::StatusOr<Caller> operator()(const grpc::ServerContextBase& context) const;

 private:
  const std::string owner_;
  const CredentialTable* const credentials_;
};

}  // namespace accel::coordinator
