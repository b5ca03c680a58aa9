// The authority of this coordinator's cluster: its key, the certificates that peers must trust, and
// the certificates that it issues. It is kept in the state directory:
//
//   STATE_DIR/ca.key       the private key; its holder can make certificates of this cluster
//   STATE_DIR/cluster_id   the cluster's name in all certificates
//   STATE_DIR/ca.crt       the certificate, written last
#pragma once

#include <memory>
#include <string>

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
  // Reads the authority from the state directory, or makes it there for the cluster `cluster_id`,
  // at a cluster's first start.
  // FAILED_PRECONDITION: a file is missing, damaged or readable by others, or they do not belong
  // together; the message says which and what to do. Others: the disk's.
  static absl::StatusOr<ClusterAuthority> ReadOrMake(const std::string& state_dir,
                                                     std::string cluster_id, absl::Time wall);

  // Returns a new key and certificate for the coordinator's server. INTERNAL: OpenSSL failed.
  absl::StatusOr<security::ServerTls> MakeServer(absl::Time wall) const;

  // Issues a certificate to a member, as a credential with the fields that depend on it: serial,
  // certificate, expiry. `node_name` is empty for a user. INTERNAL: OpenSSL failed.
  absl::StatusOr<v1::Credential> Issue(v1::MemberKind kind, const std::string& member,
                                       const std::string& node_name, const security::PublicKey& key,
                                       absl::Time wall) const;

  const std::string& cluster_id() const { return cluster_id_; }
  // Returns what peers must trust, in PEM.
  std::string bundle() const { return authority_.certificate.ToPem(); }
  // Returns the pin of join strings.
  std::string pin() const { return security::PinOf(authority_.certificate); }

 private:
  ClusterAuthority(std::string cluster_id, security::Authority authority)
      : cluster_id_(std::move(cluster_id)), authority_(std::move(authority)) {}

  std::string cluster_id_;
  security::Authority authority_;
};

}  // namespace accel::coordinator
