#include "coordinator/core/access/admission.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/core/access/members.h"
#include "security/principal.h"

namespace accel::coordinator {
namespace {

constexpr int64_t kUnlimited = -1;

// Compares hashes in a time that does not depend on where they differ.
bool SameHash(const std::string& one, const std::string& other) {
  unsigned different = one.size() == other.size() ? 0 : 1;
  for (size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
    different |= static_cast<unsigned char>(one[i] ^ other[i]);
  }
  return different == 0;
}

void DropExpiredTokens(absl::Time wall, AccessState* state, AccessChanges* changes) {
  for (auto token = state->tokens.begin(); token != state->tokens.end();) {
    const bool over = token->second.expires_unix_ms() < absl::ToUnixMillis(wall);
    if (over) changes->tokens.insert(token->first);
    token = over ? state->tokens.erase(token) : std::next(token);
  }
}

absl::Status CheckNode(const Newcomer& newcomer, const v1::Token& token, const AccessState& state) {
  ACCEL_RETURN_IF_ERROR(security::CheckPrincipalName("the node's id", newcomer.id));
  ACCEL_RETURN_IF_ERROR(security::CheckPrincipalName("the node's name", newcomer.name));
  if (!token.member().empty() && token.member() != newcomer.name) {
    return absl::PermissionDeniedError(absl::StrCat("the key is for a node named ", token.member(),
                                                    ", and this one is named ", newcomer.name,
                                                    "; ask for another key, or use --name"));
  }
  for (const auto& [id, member] : state.members) {
    if (id.first == v1::NODE_MEMBER && member.name() == newcomer.name && id.second != newcomer.id) {
      return absl::AlreadyExistsError(
          absl::StrCat("the cluster has another node named ", newcomer.name,
                       "; choose another --name, or run: accel node remove ", newcomer.name));
    }
  }
  if (!state.members.contains({v1::NODE_MEMBER, newcomer.id})) return absl::OkStatus();
  for (const auto& [serial, credential] : state.credentials) {
    if (credential.kind() == v1::NODE_MEMBER && credential.member() == newcomer.id &&
        credential.key_hash() == newcomer.key_hash &&
        credential.state() != v1::Credential::REVOKED) {
      return absl::OkStatus();
    }
  }
  // Without this check, the holder of a key for any node could replace this node.
  return absl::AlreadyExistsError(
      absl::StrCat("the cluster has this node already, with another key; "
                   "an administrator can run: accel node remove ",
                   newcomer.name));
}

absl::StatusOr<v1::Token*> FindToken(const Newcomer& newcomer, AccessState* state) {
  const auto token = state->tokens.find(newcomer.token_id);
  if (token == state->tokens.end() ||
      !SameHash(token->second.secret_hash(), newcomer.secret_hash)) {
    return absl::UnauthenticatedError(
        "the coordinator does not know this key, or it has expired; ask for a new one");
  }
  return &token->second;
}

absl::Status CheckToken(const v1::Token& token, const Newcomer& newcomer, absl::Time wall) {
  if (token.kind() != newcomer.kind) {
    return absl::PermissionDeniedError(
        newcomer.kind == v1::NODE_MEMBER
            ? "the key is a user's; a node's comes from: accel node add"
            : "the key is a node's; a user's comes from: accel user add NAME");
  }
  if (token.expires_unix_ms() < absl::ToUnixMillis(wall)) {
    return absl::PermissionDeniedError("the key has expired; ask for a new one");
  }
  if (token.uses_left() == 0) {
    return absl::PermissionDeniedError("the key is used up; ask for a new one");
  }
  return absl::OkStatus();
}

// Returns the credential that was issued for this token and this public key, or null.
const v1::Credential* GivenBefore(const Newcomer& newcomer, const AccessState& state) {
  for (const auto& [serial, credential] : state.credentials) {
    if (credential.token_id() == newcomer.token_id && credential.key_hash() == newcomer.key_hash &&
        credential.state() == v1::Credential::VALID) {
      return &credential;
    }
  }
  return nullptr;
}

// Returns the serial of the newest valid credential of a node, or "" if there is none. A node that
// joins again keeps its identity, so the first use of its new credential ends the former one.
std::string NewestOf(const MemberId& member, absl::Time wall, AccessState* state) {
  const v1::Credential* newest = nullptr;
  for (const v1::Credential* each : CredentialsOf(member, state)) {
    if (!IsValid(*each, wall)) continue;
    if (newest == nullptr || each->made_unix_ms() > newest->made_unix_ms()) newest = each;
  }
  return newest == nullptr ? "" : newest->serial();
}

absl::Status PutUser(const v1::AddTokenRequest& request, absl::Time wall, AccessState* state,
                     AccessChanges* changes) {
  const MemberId member(v1::USER_MEMBER, request.member());
  const bool is_new = !state->members.contains(member);
  if (is_new && state->members.size() >= kMaxMembers) {
    return absl::ResourceExhaustedError("the cluster has too many members");
  }
  if (request.changes_role() && request.role() != v1::ADMIN_ROLE &&
      IsLastAdministrator(member, *state)) {
    return RefuseLastAdministrator(request.member());
  }
  v1::Member& user = state->members[member];
  user.set_kind(v1::USER_MEMBER);
  user.set_id(request.member());
  if (is_new) user.set_added_unix_ms(absl::ToUnixMillis(wall));
  if (is_new || request.changes_role()) user.set_role(request.role());
  if (!request.runs_as().empty()) user.set_runs_as(request.runs_as());
  if (user.runs_as().empty()) user.set_runs_as(request.member());
  changes->members.insert(member);
  return absl::OkStatus();
}

absl::Status CheckTokenRequest(const v1::AddTokenRequest& request) {
  if (request.kind() == v1::USER_MEMBER || !request.member().empty()) {
    ACCEL_RETURN_IF_ERROR(security::CheckPrincipalName("the name", request.member()));
  }
  if (!request.runs_as().empty()) {
    ACCEL_RETURN_IF_ERROR(security::CheckPrincipalName("runs_as", request.runs_as()));
    if (request.runs_as() == "root") {
      return absl::InvalidArgumentError("runs_as: jobs of users do not run as root");
    }
  }
  if (!v1::MemberKind_IsValid(request.kind())) return absl::InvalidArgumentError("no such kind");
  if (!v1::UserRole_IsValid(request.role())) return absl::InvalidArgumentError("no such role");
  if (request.ttl_s() < 1 || request.ttl_s() > absl::ToInt64Seconds(kMaxTokenLife)) {
    return absl::InvalidArgumentError("a key is valid for 1 second to 365 days");
  }
  if (request.uses() != kUnlimited && (request.uses() < 1 || request.uses() > kMaxTokenUses)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a key has 1 to ", kMaxTokenUses, " uses, or -1 for no limit"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AddToken(const v1::AddTokenRequest& request, const std::string& id,
                      const std::string& secret_hash, absl::Time wall, AccessState* state,
                      AccessChanges* changes) {
  ACCEL_RETURN_IF_ERROR(CheckTokenRequest(request));
  DropExpiredTokens(wall, state, changes);
  if (state->tokens.size() >= kMaxTokens) {
    return absl::ResourceExhaustedError(
        absl::StrCat(kMaxTokens, " keys are valid, which is the maximum; revoke some"));
  }
  if (request.kind() == v1::USER_MEMBER)
    ACCEL_RETURN_IF_ERROR(PutUser(request, wall, state, changes));
  v1::Token& token = state->tokens[id];
  token.set_id(id);
  token.set_secret_hash(secret_hash);
  token.set_kind(request.kind());
  token.set_member(request.member());
  token.set_uses_left(request.uses());
  token.set_of_many(request.uses() != 1);
  token.set_expires_unix_ms(absl::ToUnixMillis(wall) + request.ttl_s() * 1000);
  changes->tokens.insert(id);
  return absl::OkStatus();
}

absl::StatusOr<v1::Credential> Admit(const Newcomer& newcomer, absl::Time wall, MakeCredential make,
                                     AccessState* state, AccessChanges* changes) {
  ACCEL_ASSIGN_OR_RETURN(v1::Token * token, FindToken(newcomer, state));
  if (const v1::Credential* given = GivenBefore(newcomer, *state)) return *given;
  ACCEL_RETURN_IF_ERROR(CheckToken(*token, newcomer, wall));
  const bool is_node = newcomer.kind == v1::NODE_MEMBER;
  if (is_node) ACCEL_RETURN_IF_ERROR(CheckNode(newcomer, *token, *state));
  const MemberId member(newcomer.kind, is_node ? newcomer.id : token->member());
  if (is_node && !state->members.contains(member) && state->members.size() >= kMaxMembers) {
    return absl::ResourceExhaustedError("the cluster has too many members");
  }
  ACCEL_ASSIGN_OR_RETURN(v1::Credential made, make(member.second));
  // After make(), because no credential may make room for one that cannot be made.
  ACCEL_RETURN_IF_ERROR(MakeRoom(member, wall, state, changes));
  made = Complete(std::move(made), member, newcomer.key_hash, wall);
  made.set_token_id(newcomer.token_id);
  made.set_label(newcomer.label);
  // Keys that earlier versions stored do not have of_many, so their uses are looked at too.
  made.set_of_many(token->of_many() || token->uses_left() == kUnlimited || token->uses_left() > 1);
  if (is_node) made.set_replaces(NewestOf(member, wall, state));
  if (is_node) {
    v1::Member& node = state->members[member];
    node.set_kind(v1::NODE_MEMBER);
    node.set_id(newcomer.id);
    node.set_name(newcomer.name);
    if (node.added_unix_ms() == 0) node.set_added_unix_ms(absl::ToUnixMillis(wall));
    changes->members.insert(member);
  }
  if (token->uses_left() != kUnlimited) token->set_uses_left(token->uses_left() - 1);
  changes->tokens.insert(newcomer.token_id);
  changes->credentials.insert(made.serial());
  state->credentials[made.serial()] = made;
  return made;
}

}  // namespace accel::coordinator
