#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/json.h"
#include "cli/render/node_text.h"

namespace accel::cli {

int RunNodes(const std::vector<std::string>& args, const Console& console) {
  ConnectionFlags connection;
  bool json = false;
  FlagSet flags("accel nodes", "[flags]",
                "Lists the nodes of the cluster: state, resources, and the jobs on them as "
                "JOB/GENERATION. GPUS shows how many are in use.");
  flags.Switch("json", "print JSON: the message ListNodesResponse", &json);
  AddConnectionFlags(&flags, &connection);
  flags.Footer("Exit codes: 0; 2: wrong usage; 1: any other error.");
  if (const auto over = ParseOrExplain(flags, args, console)) return *over;
  const auto client = ConnectToCoordinator(connection);
  if (!client.ok()) return Fail(console, client.status());
  const auto nodes = (*client)->ListNodes();
  if (!nodes.ok()) return Fail(console, nodes.status());
  console.out << (json ? ToJson(*nodes, /*pretty=*/true) + "\n"
                       : RenderNodes(*nodes, console.color));
  return 0;
}

}  // namespace accel::cli
