#include "security/enrolment/enrolment_client.h"

#include <netdb.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/host_port.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "security/certificate.h"
#include "security/enrolment/dial.h"
#include "security/enrolment/tls_stream.h"
#include "security/openssl_handles.h"
#include "security/openssl_init.h"
#include "security/sha256.h"

namespace accel::security {
namespace {

// The input of the verification of the server, and its result.
struct Expectation {
  std::string pin;
  absl::Time wall;
  absl::Status result = absl::OkStatus();
};

absl::Status CheckServer(STACK_OF(X509) * chain, const Expectation& expected) {
  if (chain == nullptr || sk_X509_num(chain) != 2) {
    return absl::FailedPreconditionError("the server is no coordinator of accel");
  }
  std::vector<Certificate> shown;
  for (int i = 0; i < 2; ++i) {
    X509* const x509 = sk_X509_value(chain, i);
    X509_up_ref(x509);
    shown.emplace_back(std::shared_ptr<X509>(x509, OpenSslDeleter<X509_free>()));
  }
  if (X509_get0_pubkey(shown[0].get()) == nullptr || X509_get0_pubkey(shown[1].get()) == nullptr) {
    return absl::FailedPreconditionError("the server is no coordinator of accel");
  }
  if (!EqualSecrets(expected.pin, PinOf(shown[1]))) {
    return absl::FailedPreconditionError(
        "the server is not the coordinator that made the key: its authority is another one; "
        "nothing was sent to it; if the cluster's authority was rotated since, ask for a new key");
  }
  const absl::Status verified = Verify(shown[0], {shown[1]}, Purpose::kServer, expected.wall);
  if (verified.ok()) return verified;
  return absl::FailedPreconditionError(
      absl::StrCat("the coordinator's certificate is refused (", verified.message(),
                   "); this machine's clock says ",
                   absl::FormatTime("%Y-%m-%d %H:%M UTC", expected.wall, absl::UTCTimeZone())));
}

int VerifyServer(X509_STORE_CTX* context, void* data) {
  auto* const expected = static_cast<Expectation*>(data);
  expected->result = CheckServer(X509_STORE_CTX_get0_untrusted(context), *expected);
  if (expected->result.ok()) return 1;
  X509_STORE_CTX_set_error(context, X509_V_ERR_CERT_UNTRUSTED);
  return 0;
}

absl::StatusOr<SslContextHandle> MakeContext(Expectation* expected) {
  InitOpenSsl();
  SslContextHandle context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr || SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) != 1) {
    return OpenSslError("cannot use TLS");
  }
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(context.get(), VerifyServer, expected);
  return context;
}

// Connects to HOST:PORT.
absl::StatusOr<common::UniqueFd> Dial(const std::string& where, absl::Time deadline) {
  ACCEL_ASSIGN_OR_RETURN(const common::HostPort address, common::ParseHostPort(where));
  addrinfo wish{};
  wish.ai_socktype = SOCK_STREAM;
  wish.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(address.host.c_str(), address.port.c_str(), &wish, &found);
  if (error != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot reach the coordinator at ", where, ": ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  absl::StatusOr<common::UniqueFd> fd = DialFirst(*owner, deadline);
  if (fd.ok()) return fd;
  return absl::Status(
      fd.status().code(),
      absl::StrCat("cannot reach the coordinator at ", where, ": ", fd.status().message(),
                   "; is it running, and does it --listen there?"));
}

absl::Status SendPreface(int fd, absl::Time deadline) {
  ACCEL_RETURN_IF_ERROR(AwaitSocket(fd, POLLOUT, deadline));
  // One send() is enough, because the send buffer of a new connection has room for eight bytes.
  if (send(fd, kEnrolmentPreface, kEnrolmentPrefaceBytes, MSG_NOSIGNAL) !=
      static_cast<ssize_t>(kEnrolmentPrefaceBytes)) {
    return absl::UnavailableError(std::strerror(errno));
  }
  return absl::OkStatus();
}

}  // namespace

std::string ServerNameOfPin(absl::string_view pin) {
  // Only a half of the pin is used, because a label of a name has at most 63 characters. The pin
  // is not secret.
  return absl::StrCat(absl::BytesToHexString(pin.substr(0, 16)), ".accel.internal");
}

absl::StatusOr<EnrolmentAnswer> Enrol(const JoinString& key, EnrolmentRequest request,
                                      absl::Time wall, absl::Duration timeout) {
  const absl::Time deadline = common::SteadyClock()->Now() + timeout;
  Expectation expected = {.pin = key.pin, .wall = wall};
  ACCEL_ASSIGN_OR_RETURN(const SslContextHandle context, MakeContext(&expected));
  ACCEL_ASSIGN_OR_RETURN(common::UniqueFd socket, Dial(key.address, deadline));
  ACCEL_RETURN_IF_ERROR(SendPreface(socket.get(), deadline));
  TlsStream stream(context.get(), std::move(socket), deadline);
  const absl::Status connected = stream.Connect(ServerNameOfPin(key.pin));
  ACCEL_RETURN_IF_ERROR(expected.result);
  ACCEL_RETURN_IF_ERROR(connected);
  request.token_id = key.token_id;
  request.secret = key.secret;
  ACCEL_RETURN_IF_ERROR(stream.SendFrame(EncodeRequest(request)));
  ACCEL_ASSIGN_OR_RETURN(const std::string frame, stream.ReceiveFrame());
  ACCEL_ASSIGN_OR_RETURN(EnrolmentAnswer answer, DecodeAnswer(frame));
  ACCEL_RETURN_IF_ERROR(answer.refusal);
  return answer;
}

}  // namespace accel::security
