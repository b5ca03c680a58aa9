// Authenticates calls: a caller must send the metadata `authorization: Bearer TOKEN`.
#pragma once

#include <grpcpp/server_context.h>

#include <string>
#include <utility>

#include "coordinator/refusal_log.h"

namespace accel::coordinator {

// Thread-safe.
class Authentication {
 public:
  // `log` must outlive this object.
  Authentication(std::string token, RefusalLog* log) : token_(std::move(token)), log_(*log) {}

  // Returns OK if the call carries the token. Otherwise logs the refusal and returns
  // UNAUTHENTICATED with a message that says what to do.
  grpc::Status Check(const grpc::CallbackServerContext& context);

 private:
  bool Presents(const grpc::CallbackServerContext& context) const;

  const std::string token_;
  RefusalLog& log_;
};

}  // namespace accel::coordinator
