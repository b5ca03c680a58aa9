#include "coordinator/members/cluster_access.h"

#include <utility>

#include "common/log.h"
#include "common/status_macros.h"
#include "coordinator/members/rotation_progress.h"
#include "coordinator/members/server_renewal.h"
#include "security/rotation.h"

namespace accel::coordinator {

absl::StatusOr<std::unique_ptr<ClusterAccess>> ClusterAccess::Make(ClusterAuthority authority,
                                                                   absl::Time wall) {
  std::unique_ptr<ClusterAccess> access(new ClusterAccess(std::move(authority)));
  ACCEL_RETURN_IF_ERROR(access->Begin(wall));
  return access;
}

void ClusterAccess::Attach(Coordinator* coordinator, Entrance* entrance, std::string address,
                           std::function<void(const std::string& serial)> cut) {
  entrance->SetAuthorities(security::NameOfAuthorities(authority_.get()->bundle()));
  slot_.Set(coordinator, entrance, std::move(address));
  // After the slot is set, because NoteSeen() blocks until then, and SetCallbacks() may call it.
  credentials_.SetCallbacks(
      {.on_seen = [this](const std::string& serial) { desk_.NoteSeen(serial); },
       .on_refused = std::move(cut)});
}

absl::Status ClusterAccess::Begin(absl::Time wall) {
  const std::shared_ptr<const ClusterAuthority> authority = authority_.get();
  ACCEL_ASSIGN_OR_RETURN(const security::ServerTls tls, authority->MakeServer(wall));
  ACCEL_ASSIGN_OR_RETURN(tls_, security::ServerCertificateSource::Make(tls, wall));
  security::EnrolmentServerOptions options;
  options.decide = [this](const security::EnrolmentRequest& request, const std::string& peer) {
    return admissions_.Decide(request, peer);
  };
  ACCEL_ASSIGN_OR_RETURN(
      enrolment_, security::EnrolmentServer::Start(std::move(options), tls.key, tls.certificate));
  ACCEL_RETURN_IF_ERROR(ServeNewcomers(*authority, tls, wall));
  renewed_ = wall;
  return absl::OkStatus();
}

absl::Status ClusterAccess::RenewServer(absl::Time wall) {
  if (!IsServerRenewalDue(renewed_, wall)) return absl::OkStatus();
  return Serve(*authority_.get(), wall);
}

absl::Status ClusterAccess::Serve(const ClusterAuthority& authority, absl::Time wall) {
  ACCEL_ASSIGN_OR_RETURN(const security::ServerTls tls, authority.MakeServer(wall));
  ACCEL_RETURN_IF_ERROR(tls_->Replace(tls, wall));
  ACCEL_RETURN_IF_ERROR(ServeNewcomers(authority, tls, wall));
  renewed_ = wall;
  return absl::OkStatus();
}

// Replaces the certificates for newcomers. `tls` is the one that the server shows to members.
// During a rotation the former authority has issued it.
absl::Status ClusterAccess::ServeNewcomers(const ClusterAuthority& authority,
                                           const security::ServerTls& tls, absl::Time wall) {
  if (!authority.is_rotating()) return enrolment_->Replace(tls.key, tls.certificate, "", "");
  ACCEL_ASSIGN_OR_RETURN(const security::ServerTls next, authority.MakeEnrolmentServer(wall));
  return enrolment_->Replace(next.key, next.certificate, tls.key, tls.certificate);
}

absl::Status ClusterAccess::Use(ClusterAuthority authority, absl::Time wall) {
  if (authority.bundle() == authority_.get()->bundle()) return absl::OkStatus();
  // The server must trust an authority before that authority issues certificates.
  ACCEL_RETURN_IF_ERROR(Serve(authority, wall));
  const std::string name = security::NameOfAuthorities(authority.bundle());
  common::LogInfo(authority.is_rotating() ? "the cluster's authority is being rotated"
                                          : "the rotation of the cluster's authority is finished",
                  {{"authorities", name}});
  const bool is_finished = !authority.is_rotating();
  authority_.Set(std::move(authority));
  slot_.entrance().SetAuthorities(name);
  if (is_finished) EndFormer(*authority_.get());
  return absl::OkStatus();
}

void ClusterAccess::EndFormer(const ClusterAuthority& authority) {
  slot_.coordinator().WithAccess(
      [present = authority.present().certificate](const AccessTurn& turn) {
        EndFormerCertificates(present, turn.wall, turn.access, turn.changes);
        return absl::OkStatus();
      },
      [](const absl::Status& status) {
        if (!status.ok()) {
          common::LogError("cannot end the certificates of the former authority",
                           {{"why", status.ToString()}});
        }
      });
}

}  // namespace accel::coordinator
