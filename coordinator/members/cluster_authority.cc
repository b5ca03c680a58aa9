#include "coordinator/members/cluster_authority.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "security/secret_file.h"

namespace accel::coordinator {
namespace {

absl::Status About(const std::string& path, const absl::Status& status) {
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": ", status.message(), "; restore it from a backup of the directory"));
}

absl::StatusOr<security::Authority> Read(const std::string& key_path, const std::string& key_pem,
                                         const std::string& certificate_path,
                                         const std::string& certificate_pem) {
  absl::StatusOr<security::PrivateKey> key = security::PrivateKey::FromPem(key_pem);
  if (!key.ok()) return About(key_path, key.status());
  absl::StatusOr<security::Certificate> certificate =
      security::Certificate::FromPem(certificate_pem);
  if (!certificate.ok()) return About(certificate_path, certificate.status());
  if (certificate->public_key().ToDer() != key->public_key().ToDer()) {
    return About(certificate_path, absl::FailedPreconditionError("it belongs to another key"));
  }
  return security::Authority{*std::move(key), *std::move(certificate)};
}

}  // namespace

absl::StatusOr<ClusterAuthority> ClusterAuthority::Make(std::string cluster_id, absl::Time wall) {
  ACCEL_ASSIGN_OR_RETURN(security::Authority authority, security::MakeAuthority(cluster_id, wall));
  return ClusterAuthority(std::move(cluster_id), std::move(authority));
}

absl::StatusOr<ClusterAuthority> ClusterAuthority::ReadOrMake(const std::string& state_dir,
                                                              std::string cluster_id,
                                                              absl::Time wall) {
  const std::string key_path = state_dir + "/ca.key";
  const std::string id_path = state_dir + "/cluster_id";
  const std::string certificate_path = state_dir + "/ca.crt";
  const absl::StatusOr<std::string> certificate = security::ReadSecretFile(certificate_path);
  if (absl::IsNotFound(certificate.status())) {
    // The certificate is written last, so without it nothing was issued yet. A key may be there
    // from a start that was interrupted.
    ACCEL_ASSIGN_OR_RETURN(ClusterAuthority made, Make(std::move(cluster_id), wall));
    ACCEL_RETURN_IF_ERROR(security::WriteSecretFile(key_path, made.authority_.key.ToPem()));
    ACCEL_RETURN_IF_ERROR(security::WriteSecretFile(id_path, made.cluster_id_ + "\n"));
    ACCEL_RETURN_IF_ERROR(
        security::WriteSecretFile(certificate_path, made.authority_.certificate.ToPem()));
    return made;
  }
  ACCEL_RETURN_IF_ERROR(certificate.status());
  const absl::StatusOr<std::string> key = security::ReadSecretFile(key_path);
  if (absl::IsNotFound(key.status())) return About(key_path, absl::NotFoundError("it is missing"));
  ACCEL_RETURN_IF_ERROR(key.status());
  const absl::StatusOr<std::string> id = security::ReadSecretFile(id_path);
  if (!id.ok()) return About(id_path, id.status());
  ACCEL_ASSIGN_OR_RETURN(security::Authority authority,
                         Read(key_path, *key, certificate_path, *certificate));
  return ClusterAuthority(std::string(absl::StripAsciiWhitespace(*id)), std::move(authority));
}

absl::StatusOr<security::ServerTls> ClusterAuthority::MakeServer(absl::Time wall) const {
  ACCEL_ASSIGN_OR_RETURN(const security::PrivateKey key, security::PrivateKey::Make());
  ACCEL_ASSIGN_OR_RETURN(const security::Certificate leaf,
                         security::IssueServer(authority_, key.public_key(), wall));
  return security::ServerTls{.key = key.ToPem(),
                             .certificate = absl::StrCat(leaf.ToPem(), bundle()),
                             .client_authorities = bundle()};
}

absl::StatusOr<v1::Credential> ClusterAuthority::Issue(v1::MemberKind kind,
                                                       const std::string& member,
                                                       const std::string& node_name,
                                                       const security::PublicKey& key,
                                                       absl::Time wall) const {
  ACCEL_ASSIGN_OR_RETURN(const std::string serial, security::MakeSerial());
  const security::Principal principal = {.cluster = cluster_id_,
                                         .kind = kind == v1::NODE_MEMBER
                                                     ? security::PrincipalKind::kNode
                                                     : security::PrincipalKind::kUser,
                                         .name = member,
                                         .serial = serial};
  ACCEL_ASSIGN_OR_RETURN(const security::Certificate leaf,
                         security::IssueClient(authority_, key, principal, wall, node_name));
  v1::Credential credential;
  credential.set_serial(serial);
  credential.set_certificate(leaf.ToPem());
  credential.set_expires_unix_ms(absl::ToUnixMillis(leaf.not_after()));
  return credential;
}

}  // namespace accel::coordinator
