// A TLS connection over a socket, with one deadline for all calls. For enrolment only, because gRPC
// has its own TLS.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/unique_fd.h"
#include "security/enrolment/sigpipe_block.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX.
struct ssl_st;

namespace accel::security {

// One thread makes all calls, because the object blocks SIGPIPE in that thread. Errors of all
// functions: DEADLINE_EXCEEDED: the deadline has passed. UNAVAILABLE: the connection broke, or the
// peer refused it.
class TlsStream {
 public:
  // Takes over a connected socket. `deadline` is a time of common::SteadyClock().
  TlsStream(ssl_ctx_st* context, common::UniqueFd socket, absl::Time deadline);

  absl::Status Accept();
  // Performs the client's handshake. Sends `server_name`, by which a server may
  // choose its certificate.
  absl::Status Connect(const std::string& server_name);
  // Sends the length of a frame and the frame, which must have at most kMaxFrameBytes.
  absl::Status SendFrame(absl::string_view frame);
  // Blocks until a whole frame has arrived, and returns it. INVALID_ARGUMENT: the peer announces
  // more than kMaxFrameBytes.
  absl::StatusOr<std::string> ReceiveFrame();
  // Tells the peer that no more bytes follow, and waits until it closes. Closing a socket with
  // unread bytes could discard bytes that were sent before.
  void Finish();

 private:
  // Calls `step`, which calls OpenSSL, again until it no longer waits for the socket.
  template <typename Step>
  absl::Status Repeat(absl::string_view what, Step step);
  absl::Status Receive(char* bytes, size_t size);

  const SigpipeBlock sigpipe_;
  const common::UniqueFd socket_;
  const absl::Time deadline_;
  const std::unique_ptr<ssl_st, void (*)(ssl_st*)> ssl_;
};

// Waits until a non-blocking socket is ready for `events` of poll(). DEADLINE_EXCEEDED: the
// deadline has passed.
absl::Status AwaitSocket(int fd, short events, absl::Time deadline);

}  // namespace accel::security
