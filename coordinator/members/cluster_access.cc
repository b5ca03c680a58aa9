#include "coordinator/members/cluster_access.h"

#include <utility>

#include "common/status_macros.h"

namespace accel::coordinator {

absl::StatusOr<std::unique_ptr<ClusterAccess>> ClusterAccess::Make(ClusterAuthority authority,
                                                                   absl::Time wall) {
  std::unique_ptr<ClusterAccess> access(new ClusterAccess(std::move(authority)));
  ACCEL_RETURN_IF_ERROR(access->Begin(wall));
  return access;
}

void ClusterAccess::Attach(Coordinator* coordinator, Entrance* entrance, std::string address,
                           std::function<void(const std::string& serial)> cut) {
  credentials_.SetCallbacks(
      {.on_seen = [this](const std::string& serial) { desk_.NoteSeen(serial); },
       .on_refused = std::move(cut)});
  slot_.Set(coordinator, entrance, std::move(address));
}

absl::Status ClusterAccess::Begin(absl::Time wall) {
  ACCEL_ASSIGN_OR_RETURN(const security::ServerTls tls, authority_.MakeServer(wall));
  ACCEL_ASSIGN_OR_RETURN(tls_, security::ServerCertificateSource::Make(tls, wall));
  security::EnrolmentServerOptions options;
  options.decide = [this](const security::EnrolmentRequest& request, const std::string& peer) {
    return admissions_.Decide(request, peer);
  };
  ACCEL_ASSIGN_OR_RETURN(
      enrolment_, security::EnrolmentServer::Start(std::move(options), tls.key, tls.certificate));
  renewed_ = wall;
  return absl::OkStatus();
}

absl::Status ClusterAccess::RenewServer(absl::Time wall) {
  if (wall - renewed_ < kServerRenewal) return absl::OkStatus();
  ACCEL_ASSIGN_OR_RETURN(const security::ServerTls tls, authority_.MakeServer(wall));
  ACCEL_RETURN_IF_ERROR(tls_->Replace(tls, wall));
  ACCEL_RETURN_IF_ERROR(enrolment_->Replace(tls.key, tls.certificate));
  renewed_ = wall;
  return absl::OkStatus();
}

}  // namespace accel::coordinator
