#include "cli/machines/run_trust.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "security/issue.h"
#include "security/key.h"
#include "security/principal.h"

namespace accel::cli {
namespace {

constexpr char kCluster[] = "launch";

}  // namespace

absl::StatusOr<security::Authority> AuthorityOf(const MeetingPlace& place,
                                                const std::string& secret) {
  // A byte that no part can have separates the parts. So different parts give different texts.
  const std::string info =
      absl::StrCat(place.host, absl::string_view("\0", 1), place.port, absl::string_view("\0", 1),
                   place.machines, absl::string_view("\0", 1), place.id);
  return security::DeriveAuthority(secret, info);
}

// The clocks of the machines may differ by days. A certificate of a launch is made for each launch
// and lives no longer than its process, so its dates are wide on both sides of `now`.
absl::StatusOr<security::ServerTls> MakeServerTls(const security::Authority& authority,
                                                  absl::Time now) {
  ACCEL_ASSIGN_OR_RETURN(const security::PrivateKey key, security::PrivateKey::Make());
  ACCEL_ASSIGN_OR_RETURN(
      const security::Certificate leaf,
      security::IssueServer(authority, key.public_key(), now - security::kServerLife / 2));
  return security::ServerTls{
      .key = key.ToPem(),
      .certificate = absl::StrCat(leaf.ToPem(), authority.certificate.ToPem()),
      .client_authorities = authority.certificate.ToPem()};
}

absl::StatusOr<security::ClientIdentity> MakeClientIdentity(const security::Authority& authority,
                                                            const std::string& node_id,
                                                            absl::Time now) {
  ACCEL_ASSIGN_OR_RETURN(const security::PrivateKey key, security::PrivateKey::Make());
  security::Principal principal;
  principal.cluster = kCluster;
  principal.kind = security::PrincipalKind::kNode;
  principal.name = node_id;
  ACCEL_ASSIGN_OR_RETURN(principal.serial, security::MakeSerial());
  ACCEL_ASSIGN_OR_RETURN(
      const security::Certificate leaf,
      security::IssueClient(authority, key.public_key(), principal, now - security::kNodeLife / 2));
  return security::ClientIdentity{.key = key.ToPem(),
                                  .certificate = leaf.ToPem(),
                                  .authorities = authority.certificate.ToPem()};
}

}  // namespace accel::cli
