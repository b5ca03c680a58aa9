// The authority of this coordinator's cluster: its key, the certificates that peers must trust, and
// the certificates that it issues. During a rotation there are two authorities. The present one
// issues the certificates of members. The former one still issues the certificate of the
// coordinator, because a member that has not renewed yet trusts no other authority
// (docs/decisions/0079). authority_files.h stores both.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/access.pb.h"
#include "security/issue.h"
#include "security/server_tls.h"

namespace accel::coordinator {

// Immutable, and so thread-safe.
class ClusterAuthority {
 public:
  // Makes the authority of a new cluster, in memory. INTERNAL: OpenSSL failed.
  static absl::StatusOr<ClusterAuthority> Make(std::string cluster_id, absl::Time wall);

  // Makes an authority from its parts. If `former` is set, the rotation from it to `present`
  // is not finished.
  ClusterAuthority(std::string cluster_id, security::Authority present,
                   std::optional<security::Authority> former = std::nullopt)
      : cluster_id_(std::move(cluster_id)),
        present_(std::move(present)),
        former_(std::move(former)) {}

  // Returns a new key and certificate for the coordinator's server. INTERNAL: OpenSSL failed.
  absl::StatusOr<security::ServerTls> MakeServer(absl::Time wall) const;
  // Returns a key and certificate for newcomers, who know only the pin(). INTERNAL: OpenSSL failed.
  absl::StatusOr<security::ServerTls> MakeEnrolmentServer(absl::Time wall) const;

  // Issues a certificate to a member. Returns a credential with the fields that depend on the
  // certificate: serial, certificate and expiry. `node_name` is empty for a user. INTERNAL: OpenSSL
  // failed, or the kernel gave no random bytes.
  absl::StatusOr<v1::Credential> Issue(v1::MemberKind kind, const std::string& member,
                                       const std::string& node_name, const security::PublicKey& key,
                                       absl::Time wall) const;

  const std::string& cluster_id() const { return cluster_id_; }
  const security::Authority& present() const { return present_; }
  bool is_rotating() const { return former_.has_value(); }
  // Returns the certificates that peers must trust, in PEM: that of the present authority first.
  std::string bundle() const;
  // Returns the pin in join strings, which names the present authority.
  std::string pin() const { return security::PinOf(present_.certificate); }

 private:
  absl::StatusOr<security::ServerTls> MakeServerOf(const security::Authority& issuer,
                                                   absl::Time wall) const;

  std::string cluster_id_;
  security::Authority present_;
  std::optional<security::Authority> former_;
};

}  // namespace accel::coordinator
