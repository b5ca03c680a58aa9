#include "coordinator/access/identify_caller.h"

#include <grpc/grpc_security_constants.h>

#include <vector>

#include "coordinator/access/certificate_caller.h"

namespace accel::coordinator {
namespace {

// Returns gRPC's word for the kind of the connection: "local" for the Unix socket, to which the
// gate admits only the coordinator's own user and root, or "ssl" for TCP.
std::string SecurityOf(const grpc::ServerContextBase& context) {
  const auto types = context.auth_context()->FindPropertyValues("transport_security_type");
  return types.size() == 1 ? std::string(types[0].data(), types[0].size()) : "";
}

std::vector<std::string> UrisOf(const grpc::ServerContextBase& context) {
  std::vector<std::string> uris;
  for (const auto& uri : context.auth_context()->FindPropertyValues(GRPC_PEER_URI_PROPERTY_NAME)) {
    uris.emplace_back(uri.data(), uri.size());
  }
  return uris;
}

// Returns the certificate of the peer in PEM, or "" if gRPC does not give it.
std::string CertificateOf(const grpc::ServerContextBase& context) {
  const auto certificates =
      context.auth_context()->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  return certificates.size() == 1 ? std::string(certificates[0].data(), certificates[0].size())
                                  : "";
}

}  // namespace

absl::StatusOr<Caller> IdentifyCaller::operator()(const grpc::ServerContextBase& context) const {
  const std::string security = SecurityOf(context);
  if (security == "ssl" && credentials_ != nullptr) {
    return CallerOfCertificate(UrisOf(context), CertificateOf(context), *credentials_);
  }
  if (security == "local") return Caller{CallerKind::kOwner, owner_, "", Role::kAdmin};
  return absl::UnauthenticatedError(
      "the call came with no certificate; ask an administrator for a key, and run: accel login");
}

}  // namespace accel::coordinator
