#include "coordinator/members/rotation_progress.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "coordinator/core/access/members.h"
#include "security/rotation.h"

namespace accel::coordinator {
namespace {

constexpr size_t kMaxLines = 20;

std::string NameOf(const AccessState& state, const v1::Credential& credential) {
  const auto member = state.members.find({credential.kind(), credential.member()});
  const bool has_name = member != state.members.end() && !member->second.name().empty();
  return has_name ? member->second.name() : credential.member();
}

bool IsOf(const v1::Credential& credential, const security::Certificate& authority) {
  const auto certificate = security::Certificate::FromPem(credential.certificate());
  return certificate.ok() && security::IsIssuedBy(*certificate, authority);
}

std::string Line(const FormerCertificate& each) {
  const std::string seen =
      each.seen == absl::InfinitePast()
          ? "never used"
          : absl::StrCat("last used ",
                         absl::FormatTime("%Y-%m-%d %H:%M UTC", each.seen, absl::UTCTimeZone()));
  return absl::StrCat("  ", each.kind == v1::NODE_MEMBER ? "node " : "user ", each.name,
                      ", certificate ", each.serial, ", ", seen,
                      each.is_renewed ? ", its new one was not used yet" : "", "\n");
}

}  // namespace

RotationProgress CountCertificates(const AccessState& state, const security::Certificate& present,
                                   absl::Time wall) {
  RotationProgress progress;
  std::set<std::string> renewed;
  for (const auto& [serial, credential] : state.credentials) {
    if (!IsValid(credential, wall)) continue;
    if (IsOf(credential, present)) {
      ++progress.issued;
      renewed.insert(credential.replaces());
      continue;
    }
    progress.former.push_back({.kind = credential.kind(),
                               .name = NameOf(state, credential),
                               .serial = serial,
                               .seen = credential.seen_unix_ms() == 0
                                           ? absl::InfinitePast()
                                           : absl::FromUnixMillis(credential.seen_unix_ms())});
  }
  for (FormerCertificate& each : progress.former) each.is_renewed = renewed.contains(each.serial);
  return progress;
}

int EndFormerCertificates(const security::Certificate& present, absl::Time wall, AccessState* state,
                          AccessChanges* changes) {
  const RotationProgress progress = CountCertificates(*state, present, wall);
  for (const FormerCertificate& each : progress.former) {
    state->credentials.at(each.serial).set_state(v1::Credential::REPLACED);
    changes->credentials.insert(each.serial);
  }
  return static_cast<int>(progress.former.size());
}

std::string Describe(const std::vector<FormerCertificate>& former) {
  std::string text;
  for (size_t i = 0; i < former.size() && i < kMaxLines; ++i) {
    absl::StrAppend(&text, Line(former[i]));
  }
  if (former.size() > kMaxLines) {
    absl::StrAppend(&text, "  and ", former.size() - kMaxLines, " more\n");
  }
  return text;
}

}  // namespace accel::coordinator
