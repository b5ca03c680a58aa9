#include "coordinator/authentication.h"

#include <cstdint>
#include <optional>

#include "absl/strings/strip.h"
#include "common/log.h"
#include "common/token.h"

namespace accel {

bool Authentication::Presents(const grpc::CallbackServerContext& context) const {
  const auto& metadata = context.client_metadata();
  if (metadata.count("authorization") != 1) return false;
  const grpc::string_ref value = metadata.find("authorization")->second;
  absl::string_view credential(value.data(), value.size());
  return absl::ConsumePrefix(&credential, "Bearer ") && SameToken(token_, credential);
}

grpc::Status Authentication::Check(const grpc::CallbackServerContext& context) {
  if (Presents(context)) return grpc::Status::OK;
  LogRefusal(context.peer());
  return grpc::Status(
      grpc::StatusCode::UNAUTHENTICATED,
      "the call carries no token, or not this coordinator's; use the same "
      "~/.config/accel/token on both sides, or name it with --token_file or ACCEL_TOKEN");
}

void Authentication::LogRefusal(const std::string& peer) {
  std::optional<int64_t> others;
  {
    absl::MutexLock lock(&mutex_);
    others = refusals_.Admit(clock_->Now());
  }
  if (!others.has_value()) return;
  LogWarning("refused a call without a valid token", {{"peer", peer}, {"others_since", *others}});
}

}  // namespace accel
