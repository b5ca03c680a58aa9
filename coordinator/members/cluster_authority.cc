#include "coordinator/members/cluster_authority.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace accel::coordinator {

absl::StatusOr<ClusterAuthority> ClusterAuthority::Make(std::string cluster_id, absl::Time wall) {
  ACCEL_ASSIGN_OR_RETURN(security::Authority authority, security::MakeAuthority(cluster_id, wall));
  return ClusterAuthority(std::move(cluster_id), std::move(authority));
}

std::string ClusterAuthority::bundle() const {
  return absl::StrCat(present_.certificate.ToPem(),
                      former_.has_value() ? former_->certificate.ToPem() : "");
}

absl::StatusOr<security::ServerTls> ClusterAuthority::MakeServer(absl::Time wall) const {
  return MakeServerOf(former_.has_value() ? *former_ : present_, wall);
}

absl::StatusOr<security::ServerTls> ClusterAuthority::MakeEnrolmentServer(absl::Time wall) const {
  return MakeServerOf(present_, wall);
}

absl::StatusOr<security::ServerTls> ClusterAuthority::MakeServerOf(
    const security::Authority& issuer, absl::Time wall) const {
  ACCEL_ASSIGN_OR_RETURN(const security::PrivateKey key, security::PrivateKey::Make());
  ACCEL_ASSIGN_OR_RETURN(const security::Certificate leaf,
                         security::IssueServer(issuer, key.public_key(), wall));
  return security::ServerTls{.key = key.ToPem(),
                             .certificate = absl::StrCat(leaf.ToPem(), issuer.certificate.ToPem()),
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
                         security::IssueClient(present_, key, principal, wall, node_name));
  v1::Credential credential;
  credential.set_serial(serial);
  credential.set_certificate(leaf.ToPem());
  credential.set_expires_unix_ms(absl::ToUnixMillis(leaf.not_after()));
  return credential;
}

}  // namespace accel::coordinator
