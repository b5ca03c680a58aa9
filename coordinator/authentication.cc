#include "coordinator/authentication.h"

#include "absl/strings/strip.h"
#include "common/token.h"

namespace accel::coordinator {

bool Authentication::Presents(const grpc::CallbackServerContext& context) const {
  const auto& metadata = context.client_metadata();
  if (metadata.count("authorization") != 1) return false;
  const grpc::string_ref value = metadata.find("authorization")->second;
  absl::string_view credential(value.data(), value.size());
  return absl::ConsumePrefix(&credential, "Bearer ") && common::SameToken(token_, credential);
}

grpc::Status Authentication::Check(const grpc::CallbackServerContext& context) {
  if (Presents(context)) return grpc::Status::OK;
  log_.Warn("refused a call", context.peer(), "it carries no valid token");
  return grpc::Status(
      grpc::StatusCode::UNAUTHENTICATED,
      "the call carries no token, or not this coordinator's; use the same "
      "~/.config/accel/token on both sides, or name it with --token_file or ACCEL_TOKEN");
}

}  // namespace accel::coordinator
