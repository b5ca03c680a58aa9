#include "agent/join.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/probe/inventory.h"
#include "agent/state/state_dir.h"
#include "common/secret_input.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "security/certificate.h"
#include "security/enrolment/enrolment_client.h"
#include "security/enrolment/join_string.h"
#include "security/identity_files.h"
#include "security/signing_request.h"

namespace accel::agent {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(15);

}  // namespace

absl::StatusOr<std::string> JoinCluster(const JoinOptions& options) {
  ACCEL_ASSIGN_OR_RETURN(const std::string text,
                         common::ReadSecretInput(options.key_file, "Key from `accel node add`: "));
  ACCEL_ASSIGN_OR_RETURN(const security::JoinString key, security::ParseJoinString(text));
  ACCEL_ASSIGN_OR_RETURN(const StateDir state_dir,
                         StateDir::Open(options.state_dir, absl::ZeroDuration()));
  const security::IdentityFiles files(options.state_dir, "node");
  ACCEL_ASSIGN_OR_RETURN(const security::PrivateKey own, files.ReadOrMakeKey());
  security::EnrolmentRequest request;
  request.kind = security::PrincipalKind::kNode;
  ACCEL_ASSIGN_OR_RETURN(request.csr, security::MakeRequest(own));
  request.id = state_dir.node_id().value();
  const std::string wish = options.name.empty() ? HostName() : options.name;
  request.name = wish;
  request.label = HostName();
  request.version = common::kVersion;
  ACCEL_ASSIGN_OR_RETURN(const security::EnrolmentAnswer answer,
                         security::Enrol(key, std::move(request), absl::Now(), kTimeout));
  ACCEL_RETURN_IF_ERROR(files.Write(answer.certificate, answer.authorities, key.address));
  ACCEL_ASSIGN_OR_RETURN(const security::Certificate certificate,
                         security::Certificate::FromPem(answer.certificate));
  // A repeated request gets the certificate of the first one, which may have asked
  // for another name.
  ACCEL_ASSIGN_OR_RETURN(const std::string name, certificate.node_name());
  return absl::StrCat("node ", name.empty() ? wish : name, " has joined cluster ", answer.cluster,
                      " at ", key.address, "; start it with: accel-agent --state_dir ",
                      options.state_dir);
}

}  // namespace accel::agent
