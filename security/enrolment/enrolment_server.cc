#include "security/enrolment/enrolment_server.h"

#include <netdb.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "security/certificate.h"
#include "security/enrolment/enrolment_client.h"
#include "security/enrolment/tls_stream.h"
#include "security/enrolment/wrong_tokens.h"
#include "security/key.h"
#include "security/openssl_handles.h"
#include "security/openssl_init.h"

namespace accel::security {
namespace {

using SharedContext = std::shared_ptr<SSL_CTX>;

// The certificate of the former authority. Newcomers get it if they send
// this name (ServerNameOfPin()).
struct Former {
  SharedContext context;
  std::string name;
};

int ChooseCertificate(SSL* ssl, int* /*alert*/, void* data) {
  const auto* const former = static_cast<const Former*>(data);
  const char* const name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  if (name != nullptr && former->name == name) SSL_set_SSL_CTX(ssl, former->context.get());
  return SSL_TLSEXT_ERR_OK;
}

// Makes the TLS context that presents `chain`. `former` may be null.
absl::StatusOr<SharedContext> MakeContext(const std::string& key, const std::string& chain,
                                          const std::shared_ptr<Former>& former) {
  InitOpenSsl();
  ACCEL_ASSIGN_OR_RETURN(const PrivateKey server_key, PrivateKey::FromPem(key));
  ACCEL_ASSIGN_OR_RETURN(const std::vector<Certificate> shown, ReadCertificates(chain));
  SslContextHandle context(SSL_CTX_new(TLS_server_method()));
  if (context == nullptr || SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_num_tickets(context.get(), 0) != 1) {
    return OpenSslError("cannot use TLS");
  }
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  if (SSL_CTX_use_certificate(context.get(), shown.front().get()) != 1 ||
      SSL_CTX_use_PrivateKey(context.get(), server_key.get()) != 1) {
    DropOpenSslErrors();
    return absl::InvalidArgumentError("the server's certificate belongs to another key");
  }
  for (size_t i = 1; i < shown.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context.get(), shown[i].get()) != 1) {
      return OpenSslError("cannot use the authority's certificate");
    }
  }
  if (former == nullptr) return SharedContext(std::move(context));
  SSL_CTX_callback_ctrl(context.get(), SSL_CTRL_SET_TLSEXT_SERVERNAME_CB,
                        reinterpret_cast<void (*)()>(ChooseCertificate));
  SSL_CTX_ctrl(context.get(), SSL_CTRL_SET_TLSEXT_SERVERNAME_ARG, 0, former.get());
  return SharedContext(context.release(), [former](SSL_CTX* made) { SSL_CTX_free(made); });
}

// Returns null if `chain` is empty.
absl::StatusOr<std::shared_ptr<Former>> MakeFormer(const std::string& key,
                                                   const std::string& chain) {
  if (chain.empty()) return nullptr;
  ACCEL_ASSIGN_OR_RETURN(SharedContext context, MakeContext(key, chain, nullptr));
  ACCEL_ASSIGN_OR_RETURN(const std::vector<Certificate> shown, ReadCertificates(chain));
  return std::make_shared<Former>(Former{std::move(context), ServerNameOfPin(PinOf(shown.back()))});
}

// Returns the bytes of the peer's address. For IPv6 returns only the first 64 bits, because one
// host may use all addresses that begin with them.
std::string SourceOf(int fd) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return "";
  if (peer.ss_family == AF_INET) {
    const auto& address = reinterpret_cast<const sockaddr_in&>(peer).sin_addr;
    return std::string(reinterpret_cast<const char*>(&address), sizeof address);
  }
  const auto* const bytes =
      reinterpret_cast<const char*>(&reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr);
  const bool is_mapped =
      IN6_IS_ADDR_V4MAPPED(&reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr);
  return is_mapped ? std::string(bytes + 12, 4) : std::string(bytes, 8);
}

// Returns the peer's address and port as text.
std::string PeerOf(int fd) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  char host[NI_MAXHOST] = "";
  char port[NI_MAXSERV] = "";
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr*>(&peer), size, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "";
  }
  if (peer.ss_family == AF_INET6) return absl::StrCat("ipv6:[", host, "]:", port);
  return absl::StrCat("ipv4:", host, ":", port);
}

EnrolmentAnswer Refusal(absl::Status status) {
  EnrolmentAnswer answer;
  answer.refusal = std::move(status);
  return answer;
}

// Each connection has its own thread, which performs the steps one after the other. This is cheap
// enough, because at most eight connections are served at a time, each for seconds.
class Server final : public EnrolmentServer {
 public:
  explicit Server(EnrolmentServerOptions options) : options_(std::move(options)) {}

  ~Server() override { Server::Stop(); }

  void Stop() override {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
    for (const int fd : open_) shutdown(fd, SHUT_RDWR);
    const auto none = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return running_ == 0; };
    mutex_.Await(absl::Condition(&none));
  }

  absl::Status Replace(const std::string& key, const std::string& chain,
                       const std::string& former_key, const std::string& former_chain) override {
    ACCEL_ASSIGN_OR_RETURN(const auto former, MakeFormer(former_key, former_chain));
    ACCEL_ASSIGN_OR_RETURN(SharedContext context, MakeContext(key, chain, former));
    absl::MutexLock lock(&mutex_);
    context_ = std::move(context);
    return absl::OkStatus();
  }

  void Take(common::UniqueFd connection) override {
    absl::MutexLock lock(&mutex_);
    if (stopped_ || running_ >= kMaxEnrolments) {
      shutdown(connection.get(), SHUT_RDWR);
      return;
    }
    ++running_;
    open_.push_back(connection.get());
    std::thread([this, context = context_, fd = std::move(connection)]() mutable {
      const int number = fd.get();
      // The number remains in `open_` while the descriptor is open, so that Stop() never shuts down
      // another connection that has got the number.
      Serve(context.get(), common::UniqueFd(dup(number)), SourceOf(number));
      shutdown(number, SHUT_RDWR);
      absl::MutexLock end(&mutex_);
      std::erase(open_, number);
      fd.reset();
      --running_;
    }).detach();
  }

 private:
  void Serve(SSL_CTX* context, common::UniqueFd fd, const std::string& source) {
    const absl::Time deadline = common::SteadyClock()->Now() + options_.time;
    if (!ReadPreface(fd.get(), deadline).ok()) return;
    const std::string peer = PeerOf(fd.get());
    TlsStream stream(context, std::move(fd), deadline);
    if (!stream.Accept().ok()) return;
    const absl::StatusOr<std::string> frame = stream.ReceiveFrame();
    if (!frame.ok() && !absl::IsInvalidArgument(frame.status())) return;
    const EnrolmentAnswer answer =
        frame.ok() ? Answer(*frame, source, peer) : Refusal(frame.status());
    if (stream.SendFrame(EncodeAnswer(answer)).ok()) stream.Finish();
  }

  static absl::Status ReadPreface(int fd, absl::Time deadline) {
    char bytes[kEnrolmentPrefaceBytes];
    for (size_t have = 0; have < sizeof bytes;) {
      ACCEL_RETURN_IF_ERROR(AwaitSocket(fd, POLLIN, deadline));
      const ssize_t got = recv(fd, bytes + have, sizeof bytes - have, MSG_DONTWAIT);
      if (got <= 0) return absl::UnavailableError("the peer closed the connection");
      have += static_cast<size_t>(got);
    }
    if (absl::string_view(bytes, sizeof bytes) == kEnrolmentPreface) return absl::OkStatus();
    return absl::InvalidArgumentError("not an enrolment");
  }

  EnrolmentAnswer Answer(const std::string& frame, const std::string& source,
                         const std::string& peer) {
    const absl::StatusOr<EnrolmentRequest> request = DecodeRequest(frame);
    if (!request.ok()) return Refusal(request.status());
    {
      absl::MutexLock lock(&mutex_);
      if (!wrong_tokens_.MayTry(source, common::SteadyClock()->Now())) {
        return Refusal(absl::ResourceExhaustedError(
            "too many wrong keys came from this address; try again in a minute"));
      }
    }
    EnrolmentAnswer answer = options_.decide(*request, peer);
    if (absl::IsUnauthenticated(answer.refusal)) {
      absl::MutexLock lock(&mutex_);
      wrong_tokens_.Note(source, common::SteadyClock()->Now());
    }
    return answer;
  }

  const EnrolmentServerOptions options_;
  absl::Mutex mutex_;
  SharedContext context_ ABSL_GUARDED_BY(mutex_);
  WrongTokens wrong_tokens_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  int running_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<int> open_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<EnrolmentServer>> EnrolmentServer::Start(
    EnrolmentServerOptions options, const std::string& key, const std::string& chain) {
  auto server = std::make_unique<Server>(std::move(options));
  ACCEL_RETURN_IF_ERROR(server->Replace(key, chain, "", ""));
  return server;
}

}  // namespace accel::security
