#include "coordinator/core/access/members.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace accel::coordinator {

bool IsValid(const v1::Credential& credential, absl::Time wall) {
  return credential.state() == v1::Credential::VALID &&
         absl::ToUnixMillis(wall) <= credential.expires_unix_ms();
}

std::vector<v1::Credential*> CredentialsOf(const MemberId& member, AccessState* state) {
  std::vector<v1::Credential*> found;
  for (auto& [serial, credential] : state->credentials) {
    if (credential.kind() == member.first && credential.member() == member.second) {
      found.push_back(&credential);
    }
  }
  return found;
}

absl::Status MakeRoom(const MemberId& member, absl::Time wall, AccessState* state,
                      AccessChanges* changes) {
  std::vector<v1::Credential*> own = CredentialsOf(member, state);
  std::sort(own.begin(), own.end(), [](const v1::Credential* a, const v1::Credential* b) {
    return a->made_unix_ms() < b->made_unix_ms();
  });
  size_t count = own.size();
  for (const v1::Credential* credential : own) {
    if (count < kMaxCredentialsOfMember) break;
    if (IsValid(*credential, wall)) continue;
    const std::string serial = credential->serial();
    changes->credentials.insert(serial);
    state->credentials.erase(serial);
    --count;
  }
  if (count < kMaxCredentialsOfMember) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      member.second, " has ", count, " valid certificates, which is the maximum; revoke some"));
}

v1::Credential Complete(v1::Credential made, const MemberId& member, const std::string& key_hash,
                        absl::Time wall) {
  made.set_kind(member.first);
  made.set_member(member.second);
  made.set_key_hash(key_hash);
  made.set_made_unix_ms(absl::ToUnixMillis(wall));
  return made;
}

bool IsLastAdministrator(const MemberId& member, const AccessState& state) {
  bool is_one = false;
  bool has_others = false;
  for (const auto& [id, each] : state.members) {
    if (id.first != v1::USER_MEMBER || each.role() != v1::ADMIN_ROLE) continue;
    (id == member ? is_one : has_others) = true;
  }
  return is_one && !has_others;
}

absl::Status RefuseLastAdministrator(const std::string& name) {
  return absl::FailedPreconditionError(
      absl::StrCat(name, " is the last administrator; give the role to another user first"));
}

absl::StatusOr<MemberId> FindMember(v1::MemberKind kind, const std::string& name,
                                    const AccessState& state) {
  if (state.members.contains({kind, name})) return MemberId(kind, name);
  for (const auto& [id, member] : state.members) {
    if (id.first == kind && !member.name().empty() && member.name() == name) return id;
  }
  return absl::NotFoundError(
      absl::StrCat("the cluster has no ", kind == v1::NODE_MEMBER ? "node" : "user", " ", name));
}

}  // namespace accel::coordinator
