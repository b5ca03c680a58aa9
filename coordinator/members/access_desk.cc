#include "coordinator/members/access_desk.h"

#include <sys/random.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/host_port.h"
#include "common/status_macros.h"
#include "coordinator/core/access/admission.h"
#include "coordinator/core/access/credentials.h"
#include "security/enrolment/join_string.h"
#include "security/sha256.h"
#include "security/signing_request.h"

namespace accel::coordinator {
namespace {

absl::StatusOr<std::string> RandomBytes(size_t size) {
  std::string bytes(size, '\0');
  if (getrandom(bytes.data(), size, 0) != static_cast<ssize_t>(size)) {
    return absl::InternalError("the kernel gave no random bytes");
  }
  return bytes;
}

absl::StatusOr<std::string> ChooseAddress(const std::string& asked, const std::string& own) {
  if (asked.empty() && own.empty()) {
    return absl::FailedPreconditionError(
        "the coordinator serves its own machine only; start it with --listen HOST:PORT, by which "
        "others reach it");
  }
  if (asked.empty()) return own;
  ACCEL_RETURN_IF_ERROR(common::ParseHostPort(asked).status());
  return asked;
}

absl::StatusOr<security::JoinString> MakeKey(std::string address, std::string pin) {
  ACCEL_ASSIGN_OR_RETURN(const std::string id, RandomBytes(security::kTokenIdDigits / 2));
  ACCEL_ASSIGN_OR_RETURN(std::string secret, RandomBytes(security::kTokenSecretBytes));
  return security::JoinString{.address = std::move(address),
                              .token_id = absl::BytesToHexString(id),
                              .secret = std::move(secret),
                              .pin = std::move(pin)};
}

void CopyMembers(const AccessState& access, v1::MemberKind kind, v1::ListMembersResponse* to) {
  for (const auto& [id, member] : access.members) {
    if (id.first == kind) *to->add_members() = member;
  }
  for (const auto& [serial, credential] : access.credentials) {
    if (credential.kind() != kind) continue;
    v1::Credential* copy = to->add_credentials();
    *copy = credential;
    copy->clear_certificate();
    copy->clear_key_hash();
  }
  for (const auto& [id, token] : access.tokens) {
    if (token.kind() != kind) continue;
    v1::Token* copy = to->add_tokens();
    *copy = token;
    copy->clear_secret_hash();
  }
}

}  // namespace

template <typename Response, typename Act>
void AccessDesk::Run(Act act, Done<Response> done) {
  // Shared, because the loop may destroy `take` before it calls `reply`.
  const auto response = std::make_shared<Response>();
  auto take = [response, act = std::move(act)](const AccessTurn& turn) mutable {
    return act(turn, response.get());
  };
  auto reply = [response, done = std::move(done)](const absl::Status& status) mutable {
    if (!status.ok()) return done(status);
    done(std::move(*response));
  };
  slot_.coordinator().WithAccess(std::move(take), std::move(reply));
}

void AccessDesk::AddToken(v1::AddTokenRequest request, Done<v1::AddTokenResponse> done) {
  absl::StatusOr<std::string> address = ChooseAddress(request.address(), slot_.address());
  if (!address.ok()) return done(address.status());
  absl::StatusOr<security::JoinString> key = MakeKey(*std::move(address), authority_.get()->pin());
  if (!key.ok()) return done(key.status());
  const security::JoinString join = *std::move(key);
  Run<v1::AddTokenResponse>(
      [request, join](const AccessTurn& turn, v1::AddTokenResponse* response) {
        ACCEL_RETURN_IF_ERROR(accel::coordinator::AddToken(request, join.token_id,
                                                           security::Sha256(join.secret), turn.wall,
                                                           turn.access, turn.changes));
        response->set_key(security::FormatJoinString(join));
        response->set_expires_unix_ms(turn.access->tokens.at(join.token_id).expires_unix_ms());
        return absl::OkStatus();
      },
      std::move(done));
}

void AccessDesk::ListMembers(const v1::ListMembersRequest& request,
                             Done<v1::ListMembersResponse> done) {
  Run<v1::ListMembersResponse>(
      [kind = request.kind()](const AccessTurn& turn, v1::ListMembersResponse* response) {
        CopyMembers(*turn.access, kind, response);
        return absl::OkStatus();
      },
      std::move(done));
}

void AccessDesk::Revoke(v1::RevokeRequest request, Done<v1::RevokeResponse> done) {
  Run<v1::RevokeResponse>(
      [request = std::move(request)](const AccessTurn& turn, v1::RevokeResponse* response) {
        ACCEL_ASSIGN_OR_RETURN(
            *response, accel::coordinator::Revoke(request, turn.wall, turn.access, turn.changes));
        return absl::OkStatus();
      },
      std::move(done));
}

void AccessDesk::RemoveMember(v1::RemoveMemberRequest request,
                              Done<v1::RemoveMemberResponse> done) {
  Run<v1::RemoveMemberResponse>(
      [request = std::move(request)](const AccessTurn& turn, v1::RemoveMemberResponse*) {
        return accel::coordinator::RemoveMember(request.kind(), request.member(), turn.wall,
                                                turn.access, turn.changes);
      },
      std::move(done));
}

void AccessDesk::Renew(const std::string& serial, const v1::RenewRequest& request,
                       Done<v1::RenewResponse> done) {
  if (serial.empty()) {
    return done(absl::FailedPreconditionError(
        "the caller uses the coordinator's Unix socket and has no certificate to renew"));
  }
  const absl::StatusOr<security::PublicKey> key = security::CheckRequest(request.csr());
  if (!key.ok()) return done(key.status());
  Run<v1::RenewResponse>(
      [serial, key = *key, authority = authority_.get()](const AccessTurn& turn,
                                                         v1::RenewResponse* response) {
        const auto old = turn.access->credentials.find(serial);
        const v1::MemberKind kind =
            old == turn.access->credentials.end() ? v1::NODE_MEMBER : old->second.kind();
        const auto make = [&](const std::string& member) {
          const auto owner = turn.access->members.find({kind, member});
          return authority->Issue(kind, member,
                                  owner == turn.access->members.end() ? "" : owner->second.name(),
                                  key, turn.wall);
        };
        ACCEL_ASSIGN_OR_RETURN(
            const v1::Credential made,
            accel::coordinator::Renew(serial, security::Sha256(key.ToDer()), turn.wall, make,
                                      turn.access, turn.changes));
        response->set_certificate(made.certificate());
        response->set_authorities(authority->bundle());
        return absl::OkStatus();
      },
      std::move(done));
}

void AccessDesk::NoteSeen(const std::string& serial) {
  slot_.coordinator().WithAccess(
      [serial](const AccessTurn& turn) {
        accel::coordinator::NoteSeen(serial, turn.wall, turn.access, turn.changes);
        return absl::OkStatus();
      },
      [](const absl::Status&) {});
}

std::string AddressForNewcomers(const std::string& listen) {
  const auto address = common::ParseHostPort(listen);
  if (!address.ok()) return "";
  if (address->host != "0.0.0.0" && address->host != "::") return listen;
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return listen;
  return absl::StrCat(name, ":", address->port);
}

}  // namespace accel::coordinator
