// The parts of a coordinator that deal with certificates, wired together. They are the TLS of its
// server, the enrolment of newcomers, and the calls of service Access.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/unique_fd.h"
#include "coordinator/members/access_desk.h"
#include "coordinator/members/access_service.h"
#include "coordinator/members/admissions.h"
#include "coordinator/members/cluster_authority.h"
#include "coordinator/members/coordinator_slot.h"
#include "coordinator/members/present_authority.h"
#include "coordinator/members/stored_credentials.h"
#include "security/enrolment/enrolment_server.h"
#include "security/server_credentials.h"

namespace accel::coordinator {

// Thread-safe. Must outlive the gRPC server that uses its credentials.
class ClusterAccess {
 public:
  // Makes the parts for this authority. Errors are those of ClusterAuthority::MakeServer(),
  // ServerCertificateSource::Make() and EnrolmentServer::Start().
  static absl::StatusOr<std::unique_ptr<ClusterAccess>> Make(ClusterAuthority authority,
                                                             absl::Time wall);

  // Connects the parts with the coordinator. Called once, immediately after the server has started.
  // `cut` ends the connections of a credential (Server::Cut()). CoordinatorSlot::Set() describes
  // the other arguments.
  void Attach(Coordinator* coordinator, Entrance* entrance, std::string address,
              std::function<void(const std::string& serial)> cut);

  // Stops admitting newcomers. Called before the server is destroyed.
  void Detach() { enrolment_->Stop(); }

  const std::string& cluster_id() const { return cluster_id_; }
  StoredCredentials* credentials() { return &credentials_; }
  // Adds the handlers of service Access, which use this object.
  void AddTo(Handlers* handlers) { service_.AddTo(handlers); }
  // Returns new credentials for one gRPC acceptor.
  std::shared_ptr<grpc::ServerCredentials> MakeCredentials() { return tls_->MakeCredentials(); }
  // Serves a connection whose next bytes are the preface of enrolment.
  void TakeEnrolment(common::UniqueFd connection) { enrolment_->Take(std::move(connection)); }
  // Uses another authority of the same cluster from now on, because a step of a rotation was made.
  // Does nothing if it is the present authority. Called after Attach(), by the thread that calls
  // RenewServer(). Errors are those of RenewServer(). After an error, the call must be repeated.
  absl::Status Use(ClusterAuthority authority, absl::Time wall);
  // Makes a new certificate for the server if that is due (server_renewal.h). Streams continue.
  // Errors are those of Make(). After an error, the enrolment server presents the old certificate,
  // the gRPC server the old or the new one, and the next call tries again.
  absl::Status RenewServer(absl::Time wall);

 private:
  explicit ClusterAccess(ClusterAuthority authority)
      : cluster_id_(authority.cluster_id()),
        authority_(std::move(authority)),
        desk_(&slot_, &authority_),
        admissions_(&slot_, &authority_),
        service_(&desk_, &slot_, cluster_id_) {}

  absl::Status Begin(absl::Time wall);
  // Makes new server certificates of this authority and uses them. Trusts the authorities
  // in its bundle().
  absl::Status Serve(const ClusterAuthority& authority, absl::Time wall);
  // Ends the certificates that the present authority of `authority` has not issued,
  // and their connections.
  void EndFormer(const ClusterAuthority& authority);
  absl::Status ServeNewcomers(const ClusterAuthority& authority, const security::ServerTls& tls,
                              absl::Time wall);

  CoordinatorSlot slot_;
  const std::string cluster_id_;
  PresentAuthority authority_;
  AccessDesk desk_;
  Admissions admissions_;
  StoredCredentials credentials_;
  AccessService service_;
  absl::Time renewed_;  // Used by one thread, that of RenewServer() and Use().
  std::unique_ptr<security::ServerCertificateSource> tls_;
  std::unique_ptr<security::EnrolmentServer> enrolment_;
};

}  // namespace accel::coordinator
