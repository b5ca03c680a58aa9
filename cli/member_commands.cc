#include "cli/member_commands.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/connect.h"
#include "cli/json.h"
#include "cli/render/member_text.h"
#include "cli/render/times.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

constexpr char kFooter[] =
    "Only administrators may do this; the user who runs the coordinator is one on its machine.\n"
    "Exit codes: 0; 2: wrong usage; 1: any other error.";

std::string Word(v1::MemberKind kind) { return kind == v1::NODE_MEMBER ? "node" : "user"; }

// Reads "15m", "12h" or "30d".
absl::StatusOr<int64_t> ReadTtl(const std::string& text) {
  int64_t count = 0;
  const std::string number = text.substr(0, text.empty() ? 0 : text.size() - 1);
  if (absl::SimpleAtoi(number, &count) && count > 0 && count <= 1'000'000) {
    switch (text.back()) {
      case 's':
        return count;
      case 'm':
        return count * 60;
      case 'h':
        return count * 3600;
      case 'd':
        return count * 86'400;
      default:
        break;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--ttl: must be a time such as 15m, 12h or 30d, not ", text));
}

absl::StatusOr<int64_t> ReadUses(const std::string& text) {
  int64_t uses = 0;
  if (text == "unlimited") return -1;
  if (absl::SimpleAtoi(text, &uses) && uses > 0) return uses;
  return absl::InvalidArgumentError(
      absl::StrCat("--uses: must be a number from 1, or unlimited, not ", text));
}

absl::StatusOr<v1::AddTokenResponse> AskForKey(const ConnectionFlags& connection,
                                               const KeyFlags& flags, v1::AddTokenRequest request) {
  ACCEL_ASSIGN_OR_RETURN(const int64_t ttl_s, ReadTtl(flags.ttl));
  ACCEL_ASSIGN_OR_RETURN(const int64_t uses, ReadUses(flags.uses));
  request.set_ttl_s(ttl_s);
  request.set_uses(uses);
  request.set_address(flags.address);
  ACCEL_ASSIGN_OR_RETURN(const auto client, ConnectToCoordinator(connection));
  return client->AddToken(request);
}

}  // namespace

int RunMemberList(v1::MemberKind kind, const std::vector<std::string>& args,
                  const Console& console) {
  ConnectionFlags connection;
  bool json = false;
  FlagSet flags(absl::StrCat("accel ", Word(kind), " list"), "[flags]",
                absl::StrCat("Lists the ", Word(kind),
                             "s that may enter the cluster, their certificates, and the keys that "
                             "wait for a newcomer."));
  flags.Switch("json", "print JSON: the message ListMembersResponse", &json);
  AddConnectionFlags(&flags, &connection);
  flags.Footer(kFooter);
  if (const auto over = ParseOrExplain(flags, args, console)) return *over;
  const auto client = ConnectToCoordinator(connection);
  if (!client.ok()) return Fail(console, client.status());
  const auto list = (*client)->ListMembers(kind);
  if (!list.ok()) return Fail(console, list.status());
  console.out << (json ? ToJson(*list, /*pretty=*/true) + "\n" : RenderMembers(*list, absl::Now()));
  return 0;
}

int RunMemberRevoke(v1::MemberKind kind, const std::vector<std::string>& args,
                    const Console& console) {
  ConnectionFlags connection;
  v1::RevokeRequest request;
  request.set_kind(kind);
  FlagSet flags(absl::StrCat("accel ", Word(kind), " revoke"), "[flags] NAME [SERIAL] | --key ID",
                absl::StrCat("Refuses a ", Word(kind),
                             " from now on: its certificates and keys, or only the certificate "
                             "with this serial and the key by which it came. Its connections end. "
                             "With --key, refuses a key that was lost."));
  flags.Text("key", "ID", absl::StrCat("the key's id, as in: accel ", Word(kind), " list"),
             request.mutable_token());
  AddConnectionFlags(&flags, &connection);
  flags.Argument("NAME", /*required=*/false, request.mutable_member());
  flags.Argument("SERIAL", /*required=*/false, request.mutable_serial());
  flags.Footer(kFooter);
  if (const auto over = ParseOrExplain(flags, args, console)) return *over;
  if (request.member().empty() == request.token().empty()) {
    return Fail(console, absl::InvalidArgumentError("name a member or a key: NAME, or --key ID"));
  }
  const auto client = ConnectToCoordinator(connection);
  if (!client.ok()) return Fail(console, client.status());
  const auto revoked = (*client)->Revoke(request);
  if (!revoked.ok()) return Fail(console, revoked.status());
  if (request.token().empty()) {
    PrintMessage(console, absl::StrCat("revoked ", revoked->revoked(), " valid certificates of ",
                                       Word(kind), " ", request.member()));
  }
  for (const std::string& key : revoked->tokens()) {
    PrintMessage(console, absl::StrCat("revoked key ", key,
                                       "; who should still come with it needs a new one"));
  }
  return 0;
}

int RunMemberRemove(v1::MemberKind kind, const std::vector<std::string>& args,
                    const Console& console) {
  ConnectionFlags connection;
  std::string name;
  FlagSet flags(absl::StrCat("accel ", Word(kind), " remove"), "[flags] NAME",
                absl::StrCat("Revokes a ", Word(kind),
                             " and forgets it. A newcomer may then take its name."));
  AddConnectionFlags(&flags, &connection);
  flags.Argument("NAME", /*required=*/true, &name);
  flags.Footer(kFooter);
  if (const auto over = ParseOrExplain(flags, args, console)) return *over;
  const auto client = ConnectToCoordinator(connection);
  if (!client.ok()) return Fail(console, client.status());
  const absl::Status removed = (*client)->RemoveMember(kind, name);
  if (!removed.ok()) return Fail(console, removed);
  PrintMessage(console, absl::StrCat("removed ", Word(kind), " ", name));
  return 0;
}

void AddKeyFlags(FlagSet* flags, KeyFlags* to) {
  flags->Text("ttl", "TIME", "how long the key is valid: 15m, 12h, 30d (default: 15m)", &to->ttl);
  flags->Text("uses", "N", "how often it can be used, or unlimited (default: 1)", &to->uses);
  flags->Text("address", "HOST:PORT",
              "where the newcomer reaches the coordinator (default: where it listens)",
              &to->address);
  flags->Footer(kFooter);
}

int PrintNewKey(const ConnectionFlags& connection, const KeyFlags& flags,
                v1::AddTokenRequest request, const Console& console) {
  const v1::MemberKind kind = request.kind();
  const auto key = AskForKey(connection, flags, std::move(request));
  if (!key.ok()) return Fail(console, key.status());
  console.out << key->key() << "\n";
  PrintMessage(
      console,
      absl::StrCat("this key is shown once and expires in ",
                   DurationText(absl::FromUnixMillis(key->expires_unix_ms()) - absl::Now()),
                   "; give it to: ", kind == v1::NODE_MEMBER ? "accel-agent join" : "accel login"));
  return 0;
}

}  // namespace accel::cli
