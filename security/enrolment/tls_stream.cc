#include "security/enrolment/tls_stream.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "security/enrolment/enrolment_frames.h"

namespace accel::security {
namespace {

constexpr size_t kLengthBytes = 4;

}  // namespace

absl::Status AwaitSocket(int fd, short events, absl::Time deadline) {
  pollfd socket = {.fd = fd, .events = events, .revents = 0};
  while (true) {
    const absl::Duration left = deadline - common::SteadyClock()->Now();
    if (left <= absl::ZeroDuration()) return absl::DeadlineExceededError("the peer is too slow");
    const int64_t millis = absl::ToInt64Milliseconds(left) + 1;
    if (poll(&socket, 1, static_cast<int>(std::min<int64_t>(millis, 60'000))) > 0) {
      return absl::OkStatus();
    }
  }
}

TlsStream::TlsStream(ssl_ctx_st* context, common::UniqueFd socket, absl::Time deadline)
    : socket_(std::move(socket)), deadline_(deadline), ssl_(SSL_new(context), SSL_free) {
  fcntl(socket_.get(), F_SETFL, fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
  // Without TCP_NODELAY the kernel would hold back the handshake until the preface is acknowledged,
  // for about 40 ms.
  const int on = 1;
  setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  SSL_set_fd(ssl_.get(), socket_.get());
}

template <typename Step>
absl::Status TlsStream::Repeat(absl::string_view what, Step step) {
  while (true) {
    ERR_clear_error();
    const int result = step();
    if (result > 0) return absl::OkStatus();
    const int error = SSL_get_error(ssl_.get(), result);
    if (error == SSL_ERROR_WANT_READ) {
      ACCEL_RETURN_IF_ERROR(AwaitSocket(socket_.get(), POLLIN, deadline_));
    } else if (error == SSL_ERROR_WANT_WRITE) {
      ACCEL_RETURN_IF_ERROR(AwaitSocket(socket_.get(), POLLOUT, deadline_));
    } else {
      const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
      ERR_clear_error();
      return absl::UnavailableError(
          absl::StrCat(what, ": ", reason != nullptr ? reason : "the peer closed the connection"));
    }
  }
}

absl::Status TlsStream::Accept() {
  return Repeat("TLS", [this] { return SSL_accept(ssl_.get()); });
}

absl::Status TlsStream::Connect(const std::string& server_name) {
  // This is the call that the macro SSL_set_tlsext_host_name() makes. OpenSSL copies the name.
  if (SSL_ctrl(ssl_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
               const_cast<char*>(server_name.c_str())) != 1) {
    return absl::InternalError("OpenSSL refuses the name of the server");
  }
  return Repeat("TLS", [this] { return SSL_connect(ssl_.get()); });
}

absl::Status TlsStream::SendFrame(absl::string_view frame) {
  const auto size = static_cast<uint32_t>(frame.size());
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(size >> shift));
  absl::StrAppend(&bytes, frame);
  // Without SSL_MODE_ENABLE_PARTIAL_WRITE, a write is complete when it returns success.
  return Repeat("cannot send", [&] {
    return SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
  });
}

absl::Status TlsStream::Receive(char* bytes, size_t size) {
  while (size > 0) {
    size_t received = 0;
    ACCEL_RETURN_IF_ERROR(
        Repeat("cannot receive", [&] { return SSL_read_ex(ssl_.get(), bytes, size, &received); }));
    bytes += received;
    size -= received;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> TlsStream::ReceiveFrame() {
  char length[kLengthBytes];
  ACCEL_RETURN_IF_ERROR(Receive(length, sizeof length));
  uint32_t size = 0;
  for (const char byte : length) size = size << 8 | static_cast<uint8_t>(byte);
  if (size > kMaxFrameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the enrolment message has ", size, " bytes; at most ", kMaxFrameBytes));
  }
  std::string frame(size, '\0');
  ACCEL_RETURN_IF_ERROR(Receive(frame.data(), size));
  return frame;
}

void TlsStream::Finish() {
  SSL_shutdown(ssl_.get());
  shutdown(socket_.get(), SHUT_WR);
  char rest[256];
  while (AwaitSocket(socket_.get(), POLLIN, deadline_).ok() &&
         recv(socket_.get(), rest, sizeof rest, 0) > 0) {
  }
}

}  // namespace accel::security
