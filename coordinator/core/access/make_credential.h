// The function by which the pure decision to admit a member asks its caller for a certificate.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "proto/access.pb.h"

namespace accel::coordinator {

// Makes the certificate for a member id. Fills in `serial`, `certificate` and `expires_unix_ms`.
using MakeCredential = absl::FunctionRef<absl::StatusOr<v1::Credential>(const std::string& member)>;

}  // namespace accel::coordinator
