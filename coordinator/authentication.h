// Authenticates calls. The kernel names the user of a call over the Unix socket. A caller over TCP
// must send the metadata `authorization: Bearer TOKEN`.
#pragma once

#include <grpcpp/server_context.h>

#include <memory>
#include <string>
#include <utility>

#include "coordinator/gate/gate.h"
#include "coordinator/refusal_log.h"

namespace accel::coordinator {

// Thread-safe.
class Authentication {
 public:
  // Both pointers must outlive this object. The gate receives the peer of each valid call.
  Authentication(std::string token, RefusalLog* log, std::unique_ptr<Gate>* gate)
      : token_(std::move(token)), log_(*log), gate_(*gate) {}

  // Returns OK if the call came over the Unix socket, or carries the token. Otherwise logs the
  // refusal and returns UNAUTHENTICATED with a message that says what to do.
  grpc::Status Check(const grpc::CallbackServerContext& context);

 private:
  static bool IsLocal(const grpc::CallbackServerContext& context);
  bool Presents(const grpc::CallbackServerContext& context) const;

  const std::string token_;
  RefusalLog& log_;
  const std::unique_ptr<Gate>& gate_;  // Set before the first call.
};

}  // namespace accel::coordinator
