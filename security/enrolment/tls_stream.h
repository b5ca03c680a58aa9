// TLS over a socket with one deadline for everything. It is for enrolment; gRPC has its own.
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

// Belongs to the thread that makes it. Errors of all functions: DEADLINE_EXCEEDED. UNAVAILABLE: the
// connection broke, or the peer refused it.
class TlsStream {
 public:
  // Takes over a connected socket. `deadline` is a time of common::SteadyClock().
  TlsStream(ssl_ctx_st* context, common::UniqueFd socket, absl::Time deadline);

  absl::Status Accept();
  // Sends `server_name`, by which a server may choose its certificate.
  absl::Status Connect(const std::string& server_name);
  // Sends a frame of at most kMaxFrameBytes after its length.
  absl::Status SendFrame(absl::string_view frame);
  // INVALID_ARGUMENT: the peer announces more than kMaxFrameBytes.
  absl::StatusOr<std::string> ReceiveFrame();
  // Tells the peer that no more follows, and waits for it to close, because closing a socket with
  // unread bytes could destroy what was sent before.
  void Finish();

 private:
  // Calls `step`, which is a call of OpenSSL, until it no longer waits for the socket.
  template <typename Step>
  absl::Status Repeat(absl::string_view what, Step step);
  absl::Status Receive(char* bytes, size_t size);

  const SigpipeBlock sigpipe_;
  const common::UniqueFd socket_;
  const absl::Time deadline_;
  const std::unique_ptr<ssl_st, void (*)(ssl_st*)> ssl_;
};

// Waits until a non-blocking socket is ready for `events` of poll(). DEADLINE_EXCEEDED.
absl::Status AwaitSocket(int fd, short events, absl::Time deadline);

}  // namespace accel::security
