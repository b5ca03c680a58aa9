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

absl::Status ClusterAccess::Begin(absl::Time wall) {
  ACCEL_ASSIGN_OR_RETURN(const security::ServerTls tls, authority_.MakeServer(wall));
  ACCEL_ASSIGN_OR_RETURN(tls_, security::ServerCertificateSource::Make(tls, wall));
  security::EnrolmentServerOptions options;
  options.decide = [this](const security::EnrolmentRequest& request) {
    return admissions_.Decide(request);
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
