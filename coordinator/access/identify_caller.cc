#include "coordinator/access/identify_caller.h"

#include <grpc/grpc_security_constants.h>

#include <vector>

#include "absl/strings/strip.h"
#include "common/token.h"
#include "coordinator/access/certificate_caller.h"

namespace accel::coordinator {
namespace {

// Returns gRPC's word for the kind of the connection: "local" for the Unix socket, to which the
// gate admits only the coordinator's own user and root, "ssl" for TLS, or another one for clear
// text.
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

bool Carries(const grpc::ServerContextBase& context, const std::string& token) {
  const auto& metadata = context.client_metadata();
  if (token.empty() || metadata.count("authorization") != 1) return false;
  const grpc::string_ref value = metadata.find("authorization")->second;
  absl::string_view credential(value.data(), value.size());
  return absl::ConsumePrefix(&credential, "Bearer ") && common::SameToken(token, credential);
}

}  // namespace

absl::StatusOr<Caller> IdentifyCaller::operator()(const grpc::ServerContextBase& context) const {
  const std::string security = SecurityOf(context);
  if (security == "ssl" && credentials_ != nullptr) {
    return CallerOfCertificate(UrisOf(context), *credentials_);
  }
  // The token belongs to the owner.
  if (security == "local" || (security != "ssl" && Carries(context, token_))) {
    return Caller{CallerKind::kOwner, owner_, "", Role::kAdmin};
  }
  return absl::UnauthenticatedError(
      "the call carries no token, or not this coordinator's; use the same ~/.config/accel/token on "
      "both sides, or name it with --token_file or ACCEL_TOKEN");
}

}  // namespace accel::coordinator
