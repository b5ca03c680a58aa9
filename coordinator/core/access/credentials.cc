#include "coordinator/core/access/credentials.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"
#include "coordinator/core/access/members.h"

namespace accel::coordinator {
namespace {

constexpr absl::Duration kSeenPrecision = absl::Hours(1);
// Maximum number of valid renewals of one certificate that were not used. A client repeats a
// renewal with the same key, so it needs a second renewal only if it has lost that key. No unused
// renewal is dropped for a newer one, because its holder may have stored only that one.
constexpr size_t kMaxUnused = 4;

// Returns the valid credentials that renewed the one with this serial and were not used yet.
std::vector<v1::Credential*> UnusedRenewals(const std::string& serial, absl::Time wall,
                                            AccessState* state) {
  std::vector<v1::Credential*> found;
  for (auto& [other, credential] : state->credentials) {
    if (credential.replaces() == serial && credential.seen_unix_ms() == 0 &&
        IsValid(credential, wall)) {
      found.push_back(&credential);
    }
  }
  return found;
}

// Drops the keys for which `choose` returns true. Adds to `response` those of them that could
// still be used.
void DropTokens(absl::FunctionRef<bool(const v1::Token&)> choose, absl::Time wall,
                AccessState* state, AccessChanges* changes, v1::RevokeResponse* response) {
  std::erase_if(state->tokens, [&](const auto& each) {
    const v1::Token& token = each.second;
    if (!choose(token)) return false;
    changes->tokens.insert(each.first);
    const bool usable =
        token.uses_left() != 0 && token.expires_unix_ms() >= absl::ToUnixMillis(wall);
    if (usable) response->add_tokens(each.first);
    return true;
  });
}

absl::StatusOr<v1::RevokeResponse> RevokeToken(const std::string& id, absl::Time wall,
                                               AccessState* state, AccessChanges* changes) {
  if (!state->tokens.contains(id)) {
    return absl::NotFoundError(absl::StrCat("there is no key ", id, ", or it has expired"));
  }
  v1::RevokeResponse response;
  DropTokens([&](const v1::Token& token) { return token.id() == id; }, wall, state, changes,
             &response);
  return response;
}

// Returns true if `credential` has this serial, or descends by renewals from the one that has it.
bool DescendsFrom(const v1::Credential& credential, const std::string& serial,
                  const AccessState& state) {
  const v1::Credential* each = &credential;
  // A serial is never made twice, so the chain ends.
  while (each->serial() != serial) {
    const auto older = state.credentials.find(each->replaces());
    if (older == state.credentials.end()) return false;
    each = &older->second;
  }
  return true;
}

absl::Status RefuseMoreRenewals(const v1::Credential& old) {
  const absl::string_view command = old.kind() == v1::NODE_MEMBER ? "accel node" : "accel user";
  return absl::ResourceExhaustedError(absl::StrCat(
      "the certificate was renewed ", kMaxUnused,
      " times, and none of the new ones was used; perhaps someone else has a copy of it; an "
      "administrator runs `",
      command, " list`, and revokes it or the unused ones with `", command, " revoke`"));
}

// Returns the credentials that end with the first use of `credential`. These are the credentials
// that it replaces, directly or through other renewals, and all unused renewals of those. The
// renewals of `credential` itself remain valid. An unused renewal must end because it may belong to
// a thief who has renewed a copy of the certificate and waits.
std::vector<v1::Credential*> ReplacedBy(const v1::Credential& credential, AccessState* state) {
  std::vector<v1::Credential*> replaced;
  std::set<std::string> older;
  // This serial counts even if its credential was forgotten, because its renewals may still exist.
  for (std::string serial = credential.replaces(); !serial.empty();) {
    older.insert(serial);
    const auto found = state->credentials.find(serial);
    if (found == state->credentials.end() || found->second.state() != v1::Credential::VALID) break;
    replaced.push_back(&found->second);
    serial = found->second.replaces();
  }
  for (auto& [serial, other] : state->credentials) {
    if (other.state() != v1::Credential::VALID || other.seen_unix_ms() != 0) continue;
    if (older.contains(serial) || DescendsFrom(other, credential.serial(), *state)) continue;
    const bool is_rival = std::any_of(older.begin(), older.end(), [&](const std::string& each) {
      return other.replaces() == each || DescendsFrom(other, each, *state);
    });
    if (is_rival) replaced.push_back(&other);
  }
  return replaced;
}

}  // namespace

absl::StatusOr<v1::Credential> Renew(const std::string& serial, const std::string& key_hash,
                                     absl::Time wall, MakeCredential make, AccessState* state,
                                     AccessChanges* changes) {
  const auto found = state->credentials.find(serial);
  if (found == state->credentials.end()) {
    return absl::UnauthenticatedError("this cluster does not know the certificate");
  }
  const v1::Credential old = found->second;
  if (const std::string why = WhyRefused(old, wall); !why.empty()) {
    return absl::UnauthenticatedError(why);
  }
  // The answer to an earlier renewal with this key may have been lost.
  const std::vector<v1::Credential*> unused = UnusedRenewals(serial, wall, state);
  for (const v1::Credential* each : unused) {
    if (each->key_hash() == key_hash) return *each;
  }
  if (unused.size() >= kMaxUnused) return RefuseMoreRenewals(old);
  const MemberId member(old.kind(), old.member());
  // A renewal takes the place of the old credential, so MakeRoom() is not called. It would
  // otherwise refuse every renewal of a member that has the maximum.
  ForgetOldest(member, wall, state, changes);
  ACCEL_ASSIGN_OR_RETURN(v1::Credential made, make(old.member()));
  made = Complete(std::move(made), member, key_hash, wall);
  made.set_replaces(serial);
  made.set_label(old.label());
  made.set_token_id(old.token_id());
  made.set_of_many(old.of_many());
  changes->credentials.insert(made.serial());
  state->credentials[made.serial()] = made;
  return made;
}

void NoteSeen(const std::string& serial, absl::Time wall, AccessState* state,
              AccessChanges* changes) {
  const auto found = state->credentials.find(serial);
  if (found == state->credentials.end() || !IsValid(found->second, wall)) return;
  v1::Credential& credential = found->second;
  const bool is_first = credential.seen_unix_ms() == 0;
  const absl::Time seen = absl::FromUnixMillis(credential.seen_unix_ms());
  if (!is_first && wall - seen < kSeenPrecision) return;
  credential.set_seen_unix_ms(absl::ToUnixMillis(wall));
  changes->credentials.insert(serial);
  if (!is_first) return;
  // The renewal works, so the credentials before it are no longer needed (docs/decisions/0056).
  for (v1::Credential* each : ReplacedBy(credential, state)) {
    each->set_state(v1::Credential::REPLACED);
    changes->credentials.insert(each->serial());
  }
}

absl::StatusOr<v1::RevokeResponse> Revoke(const v1::RevokeRequest& request, absl::Time wall,
                                          AccessState* state, AccessChanges* changes) {
  if (!request.token().empty()) return RevokeToken(request.token(), wall, state, changes);
  ACCEL_ASSIGN_OR_RETURN(const MemberId member,
                         FindMember(request.kind(), request.member(), *state));
  std::vector<v1::Credential*> chosen = CredentialsOf(member, state);
  if (!request.serial().empty()) {
    std::erase_if(chosen, [&](const v1::Credential* each) {
      return !DescendsFrom(*each, request.serial(), *state);
    });
    if (chosen.empty()) {
      return absl::NotFoundError(
          absl::StrCat(request.member(), " has no certificate ", request.serial()));
    }
  }
  v1::RevokeResponse response;
  std::set<std::string> came_by;
  for (v1::Credential* credential : chosen) {
    if (IsValid(*credential, wall)) response.set_revoked(response.revoked() + 1);
    credential->set_state(v1::Credential::REVOKED);
    changes->credentials.insert(credential->serial());
    came_by.insert(credential->token_id());
  }
  // A thief of the machine may also have the key, and could enter again
  // with it (docs/decisions/0066).
  const v1::Member& owner = state->members.at(member);
  const std::string& name = owner.name().empty() ? owner.id() : owner.name();
  DropTokens(
      [&](const v1::Token& token) {
        const bool is_own = token.kind() == member.first && token.member() == name;
        return came_by.contains(token.id()) || (request.serial().empty() && is_own);
      },
      wall, state, changes, &response);
  return response;
}

std::set<std::string> LostNodes(const AccessState& state, const AccessChanges& changes,
                                absl::Time wall) {
  std::set<std::string> lost;
  for (const auto& [kind, id] : changes.members) {
    if (kind == v1::NODE_MEMBER && !state.members.contains({kind, id})) lost.insert(id);
  }
  for (const std::string& serial : changes.credentials) {
    const auto found = state.credentials.find(serial);
    if (found == state.credentials.end() || found->second.kind() != v1::NODE_MEMBER ||
        found->second.state() != v1::Credential::REVOKED) {
      continue;
    }
    const std::string& node = found->second.member();
    const bool has_another =
        std::any_of(state.credentials.begin(), state.credentials.end(), [&](const auto& each) {
          return each.second.kind() == v1::NODE_MEMBER && each.second.member() == node &&
                 IsValid(each.second, wall);
        });
    if (!has_another) lost.insert(node);
  }
  return lost;
}

absl::Status RemoveMember(v1::MemberKind kind, const std::string& member, absl::Time wall,
                          AccessState* state, AccessChanges* changes) {
  v1::RevokeRequest all;
  all.set_kind(kind);
  all.set_member(member);
  ACCEL_ASSIGN_OR_RETURN(const MemberId id, FindMember(kind, member, *state));
  if (IsLastAdministrator(id, *state)) return RefuseLastAdministrator(member);
  ACCEL_RETURN_IF_ERROR(Revoke(all, wall, state, changes).status());
  for (const v1::Credential* credential : CredentialsOf(id, state)) {
    changes->credentials.insert(credential->serial());
  }
  std::erase_if(state->credentials, [&](const auto& each) {
    return each.second.kind() == id.first && each.second.member() == id.second;
  });
  state->members.erase(id);
  changes->members.insert(id);
  return absl::OkStatus();
}

std::string WhyRefused(const v1::Credential& credential, absl::Time wall) {
  const bool is_node = credential.kind() == v1::NODE_MEMBER;
  if (credential.state() == v1::Credential::REVOKED) {
    return is_node ? "the node's certificate was revoked; to let it come back, an administrator "
                     "runs: accel node remove, then accel node add"
                   : "the certificate was revoked; ask an administrator for a key, and run: accel "
                     "login";
  }
  const absl::string_view again = is_node ? "accel-agent join" : "accel login";
  if (credential.state() == v1::Credential::MADE_ROOM) {
    return absl::StrCat("the certificate has made room for a newer one, because its key has made ",
                        kMaxCredentialsOfMember, " since; run again, with the key: ", again);
  }
  if (credential.state() == v1::Credential::REPLACED) {
    return absl::StrCat(
        "the certificate was replaced by a newer one; ask an administrator for a "
        "key, and run: ",
        again);
  }
  if (IsValid(credential, wall)) return "";
  return absl::StrCat("the certificate has expired; ask an administrator for a key, and run: ",
                      again);
}

}  // namespace accel::coordinator
