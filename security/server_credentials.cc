// This file wraps the certificate config fetcher of gRPC's C API, which needs no thread and no
// files (docs/decisions/0054). gRPC's file watcher is not used, because it drops a good certificate
// when the next one is bad.
#include "security/server_credentials.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/check.h"
#include "common/status_macros.h"
#include "security/certificate.h"
#include "security/key.h"
#include "security/openssl_init.h"

namespace accel::security {
namespace {

absl::Status Check(const ServerTls& tls, absl::Time now) {
  ACCEL_ASSIGN_OR_RETURN(const PrivateKey key, PrivateKey::FromPem(tls.key));
  ACCEL_ASSIGN_OR_RETURN(const std::vector<Certificate> chain, ReadCertificates(tls.certificate));
  ACCEL_ASSIGN_OR_RETURN(const std::vector<Certificate> authorities,
                         ReadCertificates(tls.client_authorities));
  if (chain.front().public_key().ToDer() != key.public_key().ToDer()) {
    return absl::InvalidArgumentError("the server's certificate belongs to another key");
  }
  return Verify(chain.front(), authorities, Purpose::kServer, now);
}

// The newest certificate, with a version that counts its changes.
class Current {
 public:
  void Set(ServerTls tls) {
    absl::MutexLock lock(&mutex_);
    tls_ = std::move(tls);
    ++version_;
  }

  // Writes the certificate to *tls if it is newer than *version, and updates *version.
  bool IsNewer(uint64_t* version, ServerTls* tls) {
    absl::MutexLock lock(&mutex_);
    if (*version == version_) return false;
    *version = version_;
    *tls = tls_;
    return true;
  }

 private:
  absl::Mutex mutex_;
  ServerTls tls_ ABSL_GUARDED_BY(mutex_);
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The version of the certificate that one port has. gRPC calls Fetch() on several threads,
// but never concurrently.
struct Fetcher {
  Current* current = nullptr;
  uint64_t version = 0;
};

grpc_ssl_certificate_config_reload_status Fetch(void* data,
                                                grpc_ssl_server_certificate_config** config) {
  auto* const fetcher = static_cast<Fetcher*>(data);
  ServerTls tls;
  if (!fetcher->current->IsNewer(&fetcher->version, &tls)) {
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
  }
  const grpc_ssl_pem_key_cert_pair pair = {tls.key.c_str(), tls.certificate.c_str()};
  *config = grpc_ssl_server_certificate_config_create(tls.client_authorities.c_str(), &pair, 1);
  return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
}

class FetchingCredentials final : public grpc::ServerCredentials {
 public:
  explicit FetchingCredentials(Fetcher* fetcher)
      : credentials_(grpc_ssl_server_credentials_create_with_options(
            grpc_ssl_server_credentials_create_options_using_config_fetcher(
                GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY, Fetch, fetcher))) {}
  ~FetchingCredentials() override { grpc_server_credentials_release(credentials_); }

  // A processor of metadata is not used. With one, any client could crash the server by one header
  // of gRPC's load balancing, which gRPC 1.51 cannot encode. Handlers authenticate clients instead.
  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>& /*processor*/) override {
    ACCEL_CHECK(false, "no processor of metadata is set");
  }

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  grpc_server_credentials* const credentials_;
};

class Source final : public ServerCertificateSource {
 public:
  absl::Status Replace(ServerTls tls, absl::Time now) override {
    ACCEL_RETURN_IF_ERROR(Check(tls, now));
    current_.Set(std::move(tls));
    return absl::OkStatus();
  }

  std::shared_ptr<grpc::ServerCredentials> MakeCredentials() override {
    absl::MutexLock lock(&mutex_);
    fetchers_.push_back(std::make_unique<Fetcher>(Fetcher{.current = &current_}));
    return std::make_shared<FetchingCredentials>(fetchers_.back().get());
  }

 private:
  Current current_;
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<Fetcher>> fetchers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<ServerCertificateSource>> ServerCertificateSource::Make(
    ServerTls tls, absl::Time now) {
  InitOpenSsl();
  auto source = std::make_unique<Source>();
  ACCEL_RETURN_IF_ERROR(source->Replace(std::move(tls), now));
  return source;
}

}  // namespace accel::security
