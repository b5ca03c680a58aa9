#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/connection_flags.h"
#include "cli/member_commands.h"
#include "cli/render/escape.h"

namespace accel::cli {
namespace {

constexpr char kActions[] =
    "The actions:\n"
    "  add     make a one-time key for a user, who reads it with `accel login`\n"
    "  list    list the users with their certificates, and the keys\n"
    "  revoke  refuse a user, or one of the user's machines, from now on\n"
    "  remove  revoke a user and forget it\n\n"
    "\n`accel user ACTION --help` explains each. Exit codes: 0 done, 2 wrong usage, 1 any other "
    "error.";

absl::Status ReadRole(const std::string& text, v1::AddTokenRequest* request) {
  if (text == "viewer") {
    request->set_role(v1::VIEWER_ROLE);
  } else if (text == "user") {
    request->set_role(v1::USER_ROLE);
  } else if (text == "admin") {
    request->set_role(v1::ADMIN_ROLE);
  } else {
    return absl::InvalidArgumentError("must be viewer, user or admin");
  }
  request->set_changes_role(true);
  return absl::OkStatus();
}

int Add(const std::vector<std::string>& args, const Console& console) {
  ConnectionFlags connection;
  KeyFlags key;
  v1::AddTokenRequest request;
  request.set_kind(v1::USER_MEMBER);
  request.set_role(v1::USER_ROLE);
  FlagSet flags("accel user add", "[flags] NAME",
                "Makes a key for a user and prints it. The user runs: accel login, which asks for "
                "the key. A user who exists already gets a key for another machine, and keeps the "
                "role unless --role is given.");
  flags.Value("role", "ROLE", "viewer, user or admin (default for a new user: user)",
              [&](const std::string& text) { return ReadRole(text, &request); });
  flags.Text("runs_as", "ACCOUNT",
             "the Unix account of the user's jobs (default: an account named like the user)",
             request.mutable_runs_as());
  AddKeyFlags(&flags, &key);
  AddConnectionFlags(&flags, &connection);
  flags.Argument("NAME", /*required=*/true, request.mutable_member());
  if (const auto over = ParseOrExplain(flags, args, console)) return *over;
  return PrintNewKey(connection, key, request, console);
}

}  // namespace

int RunUser(const std::vector<std::string>& args, const Console& console) {
  const std::string action = args.empty() ? "" : args[0];
  const std::vector<std::string> rest(args.empty() ? args.end() : args.begin() + 1, args.end());
  if (action == "add") return Add(rest, console);
  if (action == "list") return RunMemberList(v1::USER_MEMBER, rest, console);
  if (action == "revoke") return RunMemberRevoke(v1::USER_MEMBER, rest, console);
  if (action == "remove") return RunMemberRemove(v1::USER_MEMBER, rest, console);
  std::string unknown;
  FlagSet flags("accel user", "add|list|revoke|remove [flags] …", "Says who may use the cluster.");
  flags.Footer(kActions);
  flags.Argument("ACTION", /*required=*/true, &unknown);
  if (const auto over = ParseOrExplain(flags, args, console)) return *over;
  return Fail(console,
              absl::InvalidArgumentError(absl::StrCat(
                  "accel user needs add, list, revoke or remove, not ", EscapeControls(unknown))));
}

}  // namespace accel::cli
