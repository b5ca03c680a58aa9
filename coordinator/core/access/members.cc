#include "coordinator/core/access/members.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace accel::coordinator {
namespace {

int64_t UsedAt(const v1::Credential& credential) {
  return std::max(credential.seen_unix_ms(), credential.made_unix_ms());
}

// Drops the oldest of the credentials `over`, so that at most kMaxCredentialsOfMember - 1 are left.
void DropOldest(std::vector<v1::Credential*> over, AccessState* state, AccessChanges* changes) {
  std::sort(over.begin(), over.end(), [](const v1::Credential* one, const v1::Credential* other) {
    return one->made_unix_ms() < other->made_unix_ms();
  });
  for (size_t left = over.size(); left >= kMaxCredentialsOfMember; --left) {
    const std::string serial = over[over.size() - left]->serial();
    changes->credentials.insert(serial);
    state->credentials.erase(serial);
  }
}

}  // namespace

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

void ForgetOldest(const MemberId& member, absl::Time wall, AccessState* state,
                  AccessChanges* changes) {
  std::vector<v1::Credential*> over = CredentialsOf(member, state);
  std::erase_if(over, [&](const v1::Credential* each) { return IsValid(*each, wall); });
  DropOldest(std::move(over), state, changes);
}

absl::Status MakeRoom(const MemberId& member, absl::Time wall, AccessState* state,
                      AccessChanges* changes) {
  ForgetOldest(member, wall, state, changes);
  std::vector<v1::Credential*> valid = CredentialsOf(member, state);
  std::erase_if(valid, [&](const v1::Credential* each) { return !IsValid(*each, wall); });
  if (valid.size() < kMaxCredentialsOfMember) return absl::OkStatus();
  std::erase_if(valid, [](const v1::Credential* each) { return !each->of_many(); });
  if (valid.empty()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        member.second, " has ", kMaxCredentialsOfMember,
        " valid certificates, which is the maximum, and none came from a key with many "
        "uses, which would make room; an administrator can revoke one: accel ",
        member.first == v1::NODE_MEMBER ? "node" : "user", " list"));
  }
  v1::Credential* const last = *std::min_element(
      valid.begin(), valid.end(),
      [](const auto* one, const auto* other) { return UsedAt(*one) < UsedAt(*other); });
  last->set_state(v1::Credential::MADE_ROOM);
  changes->credentials.insert(last->serial());
  return absl::OkStatus();
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
