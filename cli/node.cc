#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/connection_flags.h"
#include "cli/member_commands.h"
#include "cli/render/escape.h"

namespace accel::cli {
namespace {

constexpr char kActions[] =
    "The actions:\n"
    "  add     make a one-time key for a new node, which reads it with `accel-agent join`\n"
    "  list    list the nodes with their certificates, and the keys\n"
    "  revoke  refuse a node from now on, for example because it was stolen\n"
    "  remove  revoke a node and forget it\n\n"
    "\n`accel node ACTION --help` explains each. Exit codes: 0 done, 2 wrong usage, 1 any other "
    "error.";

int Add(const std::vector<std::string>& args, const Console& console) {
  ConnectionFlags connection;
  KeyFlags key;
  v1::AddTokenRequest request;
  request.set_kind(v1::NODE_MEMBER);
  FlagSet flags("accel node add", "[flags]",
                "Makes a key for a new node and prints it. On the node: accel-agent join, which "
                "asks for the key. In one line: accel node add | ssh NODE accel-agent join");
  flags.Text("name", "NAME", "the only name that the node may have (default: any)",
             request.mutable_member());
  AddKeyFlags(&flags, &key);
  AddConnectionFlags(&flags, &connection);
  if (const auto over = ParseOrExplain(flags, args, console)) return *over;
  return PrintNewKey(connection, key, request, console);
}

}  // namespace

int RunNode(const std::vector<std::string>& args, const Console& console) {
  const std::string action = args.empty() ? "" : args[0];
  const std::vector<std::string> rest(args.empty() ? args.end() : args.begin() + 1, args.end());
  if (action == "add") return Add(rest, console);
  if (action == "list") return RunMemberList(v1::NODE_MEMBER, rest, console);
  if (action == "revoke") return RunMemberRevoke(v1::NODE_MEMBER, rest, console);
  if (action == "remove") return RunMemberRemove(v1::NODE_MEMBER, rest, console);
  std::string unknown;
  FlagSet flags("accel node", "add|list|revoke|remove [flags] …",
                "Says which machines may be nodes of the cluster.");
  flags.Footer(kActions);
  flags.Argument("ACTION", /*required=*/true, &unknown);
  if (const auto over = ParseOrExplain(flags, args, console)) return *over;
  return Fail(console,
              absl::InvalidArgumentError(absl::StrCat(
                  "accel node needs add, list, revoke or remove, not ", EscapeControls(unknown))));
}

}  // namespace accel::cli
