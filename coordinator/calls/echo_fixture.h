// A method for tests of a call server.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include "absl/status/status.h"
#include "coordinator/calls/server_call.h"

namespace accel::coordinator {

// Returns each message to the caller, and ends the call when the caller has no more.
class Echo final : public CallReactor {
 public:
  explicit Echo(ServerCall* call) : call_(*call) { call_.StartRead(&message_); }

  void OnReadDone(bool ok) override {
    if (!ok) return call_.Finish(absl::OkStatus());
    call_.StartWrite(message_);
  }
  void OnWriteDone(bool) override { call_.StartRead(&message_); }

 private:
  ServerCall& call_;
  grpc::ByteBuffer message_;
};

}  // namespace accel::coordinator
