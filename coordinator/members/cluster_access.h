// Everything of a coordinator that has to do with certificates, wired together: the TLS of its
// server, the enrolment of newcomers, and the calls of service Access.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/unique_fd.h"
#include "coordinator/members/access_desk.h"
#include "coordinator/members/admissions.h"
#include "coordinator/members/cluster_authority.h"
#include "coordinator/members/coordinator_slot.h"
#include "security/enrolment/enrolment_server.h"
#include "security/server_credentials.h"

namespace accel::coordinator {

// How often a coordinator makes itself a new certificate. It lives twice as long (kServerLife in
// security/issue.h).
inline constexpr absl::Duration kServerRenewal = absl::Hours(24 * 30);

// Thread-safe. Must outlive the gRPC server that uses its credentials.
class ClusterAccess {
 public:
  // INTERNAL: OpenSSL failed.
  static absl::StatusOr<std::unique_ptr<ClusterAccess>> Make(ClusterAuthority authority,
                                                             absl::Time wall);

  // Called once, immediately after the server has started: CoordinatorSlot::Set().
  void Attach(Coordinator* coordinator, std::string address) {
    slot_.Set(coordinator, std::move(address));
  }

  AccessDesk* desk() { return &desk_; }
  // Returns new credentials for one gRPC acceptor.
  std::shared_ptr<grpc::ServerCredentials> MakeCredentials() { return tls_->MakeCredentials(); }
  // Serves a connection whose next bytes are the preface of enrolment.
  void TakeEnrolment(common::UniqueFd connection) { enrolment_->Take(std::move(connection)); }
  // Makes a new certificate for the server if the present one is kServerRenewal old. Streams
  // continue. Errors are those of Make(); the old certificate then stays in use.
  absl::Status RenewServer(absl::Time wall);

 private:
  explicit ClusterAccess(ClusterAuthority authority)
      : authority_(std::move(authority)),
        desk_(&slot_, &authority_),
        admissions_(&slot_, &authority_) {}

  absl::Status Begin(absl::Time wall);

  CoordinatorSlot slot_;
  const ClusterAuthority authority_;
  AccessDesk desk_;
  Admissions admissions_;
  absl::Time renewed_;  // Used by one thread, that of RenewServer().
  std::unique_ptr<security::ServerCertificateSource> tls_;
  std::unique_ptr<security::EnrolmentServer> enrolment_;
};

}  // namespace accel::coordinator
