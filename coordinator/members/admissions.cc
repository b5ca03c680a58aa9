#include "coordinator/members/admissions.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/log.h"
#include "common/printable.h"
#include "common/status_macros.h"
#include "coordinator/core/access/admission.h"
#include "security/sha256.h"
#include "security/signing_request.h"

namespace accel::coordinator {
namespace {

// The result of one request. The loop shares it, and may set it after the caller has given up.
struct Pending {
  v1::Credential credential;
  absl::Status status;
  absl::Notification done;
};

Newcomer NewcomerOf(const security::EnrolmentRequest& request, const security::PublicKey& key) {
  Newcomer newcomer;
  newcomer.kind =
      request.kind == security::PrincipalKind::kNode ? v1::NODE_MEMBER : v1::USER_MEMBER;
  newcomer.token_id = request.token_id;
  newcomer.secret_hash = security::Sha256(request.secret);
  newcomer.key_hash = security::Sha256(key.ToDer());
  newcomer.id = request.id;
  newcomer.name = request.name;
  newcomer.label = request.label;
  return newcomer;
}

// Refuses a newcomer with the id of a node that is not a member. An agent of this machine that uses
// the Unix socket is such a node.
absl::Status CheckId(const Newcomer& newcomer, const AccessTurn& turn) {
  const auto node = turn.cluster.nodes.find(common::NodeId(newcomer.id));
  const bool is_here = node != turn.cluster.nodes.end() && node->second.session != 0;
  if (newcomer.kind != v1::NODE_MEMBER || !is_here ||
      turn.access->members.contains({v1::NODE_MEMBER, newcomer.id})) {
    return absl::OkStatus();
  }
  return absl::AlreadyExistsError(
      "a node of the coordinator's own machine has this id; choose another state directory");
}

security::EnrolmentAnswer Refusal(absl::Status status) {
  security::EnrolmentAnswer answer;
  answer.refusal = std::move(status);
  return answer;
}

}  // namespace

security::EnrolmentAnswer Admissions::Decide(const security::EnrolmentRequest& request,
                                             const std::string& peer, absl::Duration longest) {
  const absl::StatusOr<security::PublicKey> key = security::CheckRequest(request.csr);
  if (!key.ok()) return Refusal(key.status());
  const auto pending = std::make_shared<Pending>();
  const std::shared_ptr<const ClusterAuthority> authority = authority_.get();
  slot_.coordinator().WithAccess(
      [pending, newcomer = NewcomerOf(request, *key), public_key = *key,
       authority](const AccessTurn& turn) {
        const auto make = [&](const std::string& member) -> absl::StatusOr<v1::Credential> {
          // Admit() has checked the key before it calls this function.
          ACCEL_RETURN_IF_ERROR(CheckId(newcomer, turn));
          return authority->Issue(newcomer.kind, member, newcomer.name, public_key, turn.wall);
        };
        ACCEL_ASSIGN_OR_RETURN(pending->credential,
                               Admit(newcomer, turn.wall, make, turn.access, turn.changes));
        return absl::OkStatus();
      },
      [pending](absl::Status status) {
        pending->status = std::move(status);
        pending->done.Notify();
      });
  if (!pending->done.WaitForNotificationWithTimeout(longest)) {
    return Refusal(absl::UnavailableError("the coordinator is busy; run the same command again"));
  }
  if (!pending->status.ok()) {
    slot_.entrance().NoteRefusal(peer, "enrol", pending->status);
    return Refusal(pending->status);
  }
  const v1::Credential& credential = pending->credential;
  const bool is_node = credential.kind() == v1::NODE_MEMBER;
  slot_.entrance().Note({.kind = is_node ? CallerKind::kNode : CallerKind::kUser,
                         .name = credential.member(),
                         .serial = credential.serial()},
                        peer, "enrol", is_node ? request.name : request.label, absl::OkStatus());
  common::LogInfo("admitted", {{"kind", security::KindText(request.kind)},
                               {"name", pending->credential.member()},
                               {"machine", common::Printable(request.label)},
                               {"version", common::Printable(request.version)},
                               {"serial", pending->credential.serial()}});
  security::EnrolmentAnswer answer;
  answer.certificate = pending->credential.certificate();
  answer.authorities = authority->bundle();
  answer.cluster = authority->cluster_id();
  answer.name = pending->credential.member();
  return answer;
}

}  // namespace accel::coordinator
