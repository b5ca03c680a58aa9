#include "cli/render/member_text.h"

#include "absl/strings/str_cat.h"
#include "cli/render/escape.h"
#include "cli/render/table.h"
#include "cli/render/times.h"

namespace accel::cli {
namespace {

std::string State(const v1::Credential& credential, absl::Time now) {
  switch (credential.state()) {
    case v1::Credential::REVOKED:
      return "revoked";
    case v1::Credential::REPLACED:
      return "replaced";
    case v1::Credential::MADE_ROOM:
      return "made room";
    default:
      return credential.expires_unix_ms() < absl::ToUnixMillis(now) ? "expired" : "valid";
  }
}

std::string Day(int64_t unix_ms) {
  return absl::FormatTime("%Y-%m-%d", absl::FromUnixMillis(unix_ms), absl::UTCTimeZone());
}

std::string Seen(const v1::Credential& credential, absl::Time now) {
  if (credential.seen_unix_ms() == 0) return "never";
  return AgoText(absl::FromUnixMillis(credential.seen_unix_ms()), now);
}

std::string NameOf(const v1::Member& member) {
  return member.name().empty() ? member.id() : member.name();
}

std::string RoleOf(const v1::Member& member) {
  if (member.kind() == v1::NODE_MEMBER) return "node";
  switch (member.role()) {
    case v1::ADMIN_ROLE:
      return "admin";
    case v1::USER_ROLE:
      return "user";
    default:
      return "viewer";
  }
}

std::string RenderKeys(const v1::ListMembersResponse& list, absl::Time now) {
  Table keys({{"KEY"}, {"FOR"}, {"USES LEFT"}, {"EXPIRES IN"}});
  int count = 0;
  for (const v1::Token& token : list.tokens()) {
    const absl::Duration left = absl::FromUnixMillis(token.expires_unix_ms()) - now;
    if (left <= absl::ZeroDuration() || token.uses_left() == 0) continue;
    ++count;
    keys.AddRow({token.id(), token.member().empty() ? "any node" : token.member(),
                 token.uses_left() < 0 ? "unlimited" : absl::StrCat(token.uses_left()),
                 DurationText(left)});
  }
  return count == 0 ? "" : absl::StrCat("\n", keys.Render());
}

}  // namespace

std::string RenderMembers(const v1::ListMembersResponse& list, absl::Time now) {
  Table table({{"NAME"}, {"ROLE"}, {"STATE"}, {"MACHINE"}, {"SEEN"}, {"EXPIRES"}, {"SERIAL"}});
  for (const v1::Member& member : list.members()) {
    bool has_one = false;
    for (const v1::Credential& credential : list.credentials()) {
      if (credential.member() != member.id() || credential.kind() != member.kind()) continue;
      has_one = true;
      table.AddRow({NameOf(member), RoleOf(member), State(credential, now), credential.label(),
                    Seen(credential, now), Day(credential.expires_unix_ms()), credential.serial()});
    }
    if (!has_one) table.AddRow({NameOf(member), RoleOf(member), "has not logged in"});
  }
  const std::string members = list.members().empty() ? "none yet\n" : table.Render();
  return absl::StrCat(members, RenderKeys(list, now));
}

std::string RenderCaller(const v1::WhoAmIResponse& caller) {
  if (caller.kind() == "owner") {
    return absl::StrCat("the owner of cluster ", EscapeControls(caller.cluster_id()), ", role ",
                        caller.role(), ", over the coordinator's own machine\n");
  }
  return absl::StrCat(caller.kind(), " ", EscapeControls(caller.name()), " of cluster ",
                      EscapeControls(caller.cluster_id()),
                      caller.role().empty() ? "" : absl::StrCat(", role ", caller.role()),
                      ", certificate ", caller.serial(), "\n");
}

}  // namespace accel::cli
