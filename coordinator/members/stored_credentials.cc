#include "coordinator/members/stored_credentials.h"

#include <set>
#include <utility>
#include <vector>

#include "coordinator/core/access/credentials.h"
#include "security/sha256.h"

namespace accel::coordinator {
namespace {

constexpr absl::Duration kSeenPause = absl::Hours(1);

absl::Status Unknown() {
  return absl::UnauthenticatedError(
      "this cluster does not know the certificate; ask an administrator for a key, and run: accel "
      "login, or on a node: accel-agent join");
}

absl::Status Forged() {
  return absl::UnauthenticatedError(
      "the certificate is not the one that this cluster has issued with its serial; ask an "
      "administrator for a key, and run: accel login, or on a node: accel-agent join");
}

Role RoleOf(const v1::Member& member) {
  switch (member.role()) {
    case v1::ADMIN_ROLE:
      return Role::kAdmin;
    case v1::USER_ROLE:
      return Role::kUser;
    default:
      return Role::kViewer;
  }
}

}  // namespace

void StoredCredentials::SetCallbacks(Callbacks callbacks) {
  std::set<std::string> refused;
  std::set<std::string> seen;
  {
    absl::MutexLock lock(&mutex_);
    callbacks_ = callbacks;
    refused.swap(early_refused_);
    seen.swap(early_seen_);
  }
  for (const std::string& serial : refused) callbacks.on_refused(serial);
  for (const std::string& serial : seen) callbacks.on_seen(serial);
}

void StoredCredentials::Apply(const AccessState& state, const AccessChanges& changes) {
  std::vector<std::string> refused;
  std::function<void(const std::string&)> on_refused;
  {
    absl::MutexLock lock(&mutex_);
    on_refused = callbacks_.on_refused;
    for (const MemberId& id : changes.members) {
      const auto member = state.members.find(id);
      if (member == state.members.end()) {
        members_.erase(id);
      } else {
        members_[id] = member->second;
      }
    }
    for (const std::string& serial : changes.credentials) {
      const auto found = state.credentials.find(serial);
      if (found == state.credentials.end()) {
        entries_.erase(serial);
        refused.push_back(serial);
        continue;
      }
      Entry& entry = entries_[serial];
      entry.credential = found->second;
      entry.hash = security::Sha256(found->second.certificate());
      entry.credential.clear_certificate();
      if (found->second.state() != v1::Credential::VALID) refused.push_back(serial);
    }
    if (on_refused == nullptr) early_refused_.insert(refused.begin(), refused.end());
  }
  if (on_refused == nullptr) return;
  for (const std::string& serial : refused) on_refused(serial);
}

absl::StatusOr<Caller> StoredCredentials::Find(const std::string& serial,
                                               absl::string_view certificate) const {
  const absl::Time wall = wall_();
  const std::string hash = security::Sha256(certificate);
  Caller caller;
  std::function<void(const std::string&)> on_seen;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = entries_.find(serial);
    if (found == entries_.end()) return Unknown();
    Entry& entry = found->second;
    if (entry.hash != hash) return Forged();
    if (std::string why = WhyRefused(entry.credential, wall); !why.empty()) {
      return absl::UnauthenticatedError(why);
    }
    std::optional<Caller> holder = HolderIn(entry.credential);
    if (!holder.has_value()) return Unknown();
    caller = *std::move(holder);
    if (wall - entry.noted >= kSeenPause) {
      entry.noted = wall;
      on_seen = callbacks_.on_seen;
      if (on_seen == nullptr) early_seen_.insert(serial);
    }
  }
  if (on_seen != nullptr) on_seen(serial);
  return caller;
}

std::optional<Caller> StoredCredentials::HolderOf(const std::string& serial) const {
  absl::MutexLock lock(&mutex_);
  const auto found = entries_.find(serial);
  return found == entries_.end() ? std::nullopt : HolderIn(found->second.credential);
}

std::optional<Caller> StoredCredentials::HolderIn(const v1::Credential& credential) const {
  const auto member = members_.find({credential.kind(), credential.member()});
  if (member == members_.end()) return std::nullopt;
  const bool is_node = credential.kind() == v1::NODE_MEMBER;
  return Caller{.kind = is_node ? CallerKind::kNode : CallerKind::kUser,
                .name = credential.member(),
                .serial = credential.serial(),
                .role = RoleOf(member->second)};
}

}  // namespace accel::coordinator
