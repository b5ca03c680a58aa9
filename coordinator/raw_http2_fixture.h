// A client that writes the frames of HTTP/2 itself, with a valid certificate, for tests of what no
// gRPC client sends.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/unique_fd.h"
#include "coordinator/access/memory_credential_table.h"
#include "coordinator/calls/http2_frames.h"
#include "coordinator/members/cluster_authority.h"
#include "coordinator/service_fixture.h"
#include "security/server_credentials.h"

namespace accel::coordinator {

inline std::string RequestHeaders(const std::string& method = "ListNodes") {
  return RequestHeaders("https", "/accel.v1.Coordinator/" + method);
}

// A cluster with one user, and a server for it. Made before the server.
class Cluster {
 protected:
  Cluster()
      : authority_(*ClusterAuthority::Make("c1", absl::Now())),
        tls_(*security::ServerCertificateSource::Make(*authority_.MakeServer(absl::Now()),
                                                      absl::Now())),
        key_(*security::PrivateKey::Make()),
        user_(*authority_.Issue(v1::USER_MEMBER, "ann", "", key_.public_key(), absl::Now())) {
    table_.Put({CallerKind::kUser, "ann", user_.serial(), Role::kUser});
    std::remove(AuditLogPath().c_str());  // That of the test before.
  }

  static std::string AuditLogPath() { return absl::StrCat(::testing::TempDir(), "/audit.log"); }

  ServerOptions Options() {
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.tcp_credentials = tls_->MakeCredentials();
    options.credentials = &table_;
    options.audit_log = AuditLogPath();
    return options;
  }

  const ClusterAuthority authority_;
  const std::unique_ptr<security::ServerCertificateSource> tls_;
  const security::PrivateKey key_;
  const v1::Credential user_;
  MemoryCredentialTable table_;
};

class RawHttp2Test : protected Cluster, public ServiceTest {
 protected:
  RawHttp2Test() : ServiceTest(Options()), fd_(Connect()) {
    signal(SIGPIPE, SIG_IGN);  // The test writes to a connection that is cut at any moment.
    SSL_CTX_set_alpn_protos(context_.get(), reinterpret_cast<const unsigned char*>("\x02h2"), 3);
    tls_stream_ = Handshake(context_.get(), fd_.get());
    EXPECT_NE(tls_stream_, nullptr);
    EXPECT_TRUE(Send(absl::StrCat(kPreface, Frame(kSettings, 0, 0, ""))));
    // A whole call first, so that the gate counts the connection as one with a valid caller.
    EXPECT_TRUE(Send(Call(1, RequestHeaders())));
    EXPECT_TRUE(AwaitAnswer());
    EXPECT_EQ(fcntl(fd_.get(), F_SETFL, O_NONBLOCK), 0);
  }

  using TlsStream = std::unique_ptr<SSL, decltype(&SSL_free)>;

  // Returns a connection to the server.
  common::UniqueFd Connect() const {
    const std::string address = server_->address();
    int port = 0;
    EXPECT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
    return ConnectTo(port);
  }

  // Does a handshake as the user. Returns null if the server refuses it.
  TlsStream Handshake(SSL_CTX* context, int fd) const {
    const auto certificate = *security::Certificate::FromPem(user_.certificate());
    SSL_CTX_use_certificate(context, certificate.get());
    SSL_CTX_use_PrivateKey(context, key_.get());
    TlsStream stream(SSL_new(context), &SSL_free);
    SSL_set_fd(stream.get(), fd);
    if (SSL_connect(stream.get()) != 1) stream.reset();
    return stream;
  }

  // Returns the frames of a whole call with these headers.
  static std::string Call(uint32_t stream, const std::string& headers) {
    return absl::StrCat(Frame(kHeaders, kEndHeaders, stream, headers),
                        Frame(kData, kEndStream, stream, std::string(5, '\0')));
  }

  // Reads until the only call on the connection has ended. Returns false if the server closes it or
  // does not answer.
  bool AwaitAnswer() {
    const timeval limit{.tv_sec = 20, .tv_usec = 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    const auto read = [this](size_t size, std::string* bytes) {
      bytes->resize(size);
      for (size_t have = 0; have < size;) {
        const int more =
            SSL_read(tls_stream_.get(), bytes->data() + have, static_cast<int>(size - have));
        if (more <= 0) return false;
        have += static_cast<size_t>(more);
      }
      return true;
    };
    while (const auto frame = ReadFrame(read)) {
      if (frame->type == kHeaders && (frame->flags & kEndStream) != 0) return true;
    }
    return false;
  }

  // Returns false if the connection has been closed. Polls for reading too, because a blocked write
  // would detect the end only when the kernel sends again, which may take a minute.
  bool Send(const std::string& bytes) {
    while (SSL_write(tls_stream_.get(), bytes.data(), static_cast<int>(bytes.size())) <= 0) {
      const int error = SSL_get_error(tls_stream_.get(), 0);
      if (error != SSL_ERROR_WANT_WRITE && error != SSL_ERROR_WANT_READ) return false;
      pollfd ready{.fd = fd_.get(), .events = POLLIN | POLLOUT | POLLRDHUP, .revents = 0};
      poll(&ready, 1, /*timeout=*/-1);
      if ((ready.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0 || !Drain()) return false;
    }
    return true;
  }

  // Reads what the server has sent. Returns false if it has closed the connection.
  bool Drain() {
    char bytes[65536];
    int size = 0;
    do {
      size = SSL_read(tls_stream_.get(), bytes, sizeof(bytes));
    } while (size > 0);
    const int error = SSL_get_error(tls_stream_.get(), size);
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
  }

  common::UniqueFd fd_;
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_{SSL_CTX_new(TLS_client_method()),
                                                                   &SSL_CTX_free};
  TlsStream tls_stream_{nullptr, &SSL_free};
};

}  // namespace accel::coordinator
