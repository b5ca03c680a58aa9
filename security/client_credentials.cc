#include "security/client_credentials.h"

#include "security/issue.h"
#include "security/openssl_init.h"

namespace accel::security {

std::shared_ptr<grpc::ChannelCredentials> MakeClientCredentials(const ClientIdentity& identity) {
  InitOpenSsl();
  return grpc::SslCredentials({.pem_root_certs = identity.authorities,
                               .pem_private_key = identity.key,
                               .pem_cert_chain = identity.certificate});
}

void ExpectServerName(grpc::ChannelArguments* arguments) {
  arguments->SetSslTargetNameOverride(kServerName);
}

}  // namespace accel::security
