// The TLS of a gRPC server that admits only clients with a certificate of its authorities. The
// server's own certificate can be replaced while it serves. Open streams then continue.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "security/server_tls.h"

namespace accel::security {

// Thread-safe. Must outlive every gRPC server that uses its credentials, because gRPC gets the
// certificate from it at each handshake.
class ServerCertificateSource {
 public:
  // Errors are those of Replace().
  static absl::StatusOr<std::unique_ptr<ServerCertificateSource>> Make(ServerTls tls,
                                                                       absl::Time now);
  virtual ~ServerCertificateSource() = default;

  // Uses another certificate or other authorities from the next handshake on. After an error
  // the server keeps the former ones. INVALID_ARGUMENT: a text is damaged, or the key does not
  // belong to the certificate. FAILED_PRECONDITION: the certificate is not valid now, is not a
  // server's, or none of the client authorities has signed it.
  virtual absl::Status Replace(ServerTls tls, absl::Time now) = 0;

  // Returns new credentials, for one listening port or acceptor. A handshake fails unless the
  // client presents a client's certificate that one of the authorities has signed.
  virtual std::shared_ptr<grpc::ServerCredentials> MakeCredentials() = 0;
};

}  // namespace accel::security
