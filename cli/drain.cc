#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/json_object.h"

namespace accel::cli {

int RunDrain(const std::vector<std::string>& args, const Console& console) {
  ConnectionFlags connection;
  std::string node;
  bool now = false;
  bool undo = false;
  bool json = false;
  FlagSet flags(
      "accel drain", "[flags] NODE",
      "Drains a node, for example before it is repaired: it gets no new work, and its jobs run to "
      "their ends. NODE is a name or an id. `accel nodes` shows the progress: the node is draining "
      "as long as jobs run on it, then it is drained. It remains so when its agent or the "
      "coordinator is started again, until --undo.");
  flags.Switch(
      "now",
      "move its jobs to other nodes: they get SIGTERM, and SIGKILL after a grace period of "
      "30 s, and start again elsewhere, which spends no restart",
      &now);
  flags.Switch("undo", "give the node work again", &undo);
  flags.Switch("json", "print JSON (docs/json.md)", &json);
  AddConnectionFlags(&flags, &connection);
  flags.Argument("NODE", /*required=*/true, &node);
  flags.Footer(
      "Exit codes: 0; 2: wrong usage; 1: any other error, for example if there is no such node.");
  if (const auto over = ParseOrExplain(flags, args, console)) return *over;
  if (now && undo) {
    return Fail(console, absl::InvalidArgumentError("--now and --undo exclude each other"));
  }
  const auto client = ConnectToCoordinator(connection);
  if (!client.ok()) return Fail(console, client.status());
  const v1::Drain drain = undo ? v1::NOT_DRAINED : (now ? v1::MOVE_JOBS : v1::FINISH_JOBS);
  const absl::Status drained = (*client)->DrainNode(node, drain);
  if (!drained.ok()) return Fail(console, drained);
  if (json) {
    console.out
        << JsonObject::Versioned().Text("node", node).Text("drain", v1::Drain_Name(drain)).Print()
        << "\n";
    return 0;
  }
  PrintMessage(console, absl::StrCat("node ", node,
                                     undo  ? " takes work again"
                                     : now ? " takes no new work, and its jobs move to other nodes"
                                           : " takes no new work; its jobs run to their ends"));
  return 0;
}

}  // namespace accel::cli
