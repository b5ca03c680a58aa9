// Who may call: everybody who sends `authorization: Bearer TOKEN`.
#pragma once

#include <grpcpp/server_context.h>

#include <string>
#include <utility>

#include "coordinator/refusal_log.h"

namespace accel::coordinator {

// Thread-safe.
class Authentication {
 public:
  // The log outlives this.
  Authentication(std::string token, RefusalLog* log) : token_(std::move(token)), log_(*log) {}

  // UNAUTHENTICATED, with what to do.
  grpc::Status Check(const grpc::CallbackServerContext& context);

 private:
  bool Presents(const grpc::CallbackServerContext& context) const;

  const std::string token_;
  RefusalLog& log_;
};

}  // namespace accel::coordinator
