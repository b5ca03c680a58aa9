#include "coordinator/authentication.h"

#include "absl/strings/strip.h"
#include "common/token.h"

namespace accel::coordinator {

// Returns true if the call came over the Unix socket, to which the gate admits only the
// coordinator's own user and root.
bool Authentication::IsLocal(const grpc::CallbackServerContext& context) {
  const auto types = context.auth_context()->FindPropertyValues("transport_security_type");
  return types.size() == 1 && types[0] == "local";
}

bool Authentication::Presents(const grpc::CallbackServerContext& context) const {
  const auto& metadata = context.client_metadata();
  if (metadata.count("authorization") != 1) return false;
  const grpc::string_ref value = metadata.find("authorization")->second;
  absl::string_view credential(value.data(), value.size());
  return absl::ConsumePrefix(&credential, "Bearer ") && common::SameToken(token_, credential);
}

grpc::Status Authentication::Check(const grpc::CallbackServerContext& context) {
  if (IsLocal(context)) return grpc::Status::OK;
  if (Presents(context)) {
    gate_->Authenticated(context.peer(), /*serial=*/"");
    return grpc::Status::OK;
  }
  log_.Warn("refused a call", context.peer(), "it carries no valid token");
  return grpc::Status(
      grpc::StatusCode::UNAUTHENTICATED,
      "the call carries no token, or not this coordinator's; use the same "
      "~/.config/accel/token on both sides, or name it with --token_file or ACCEL_TOKEN");
}

}  // namespace accel::coordinator
