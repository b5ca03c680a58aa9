#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/json.h"
#include "cli/render/member_text.h"

namespace accel::cli {

int RunWhoAmI(const std::vector<std::string>& args, const Console& console) {
  ConnectionFlags connection;
  bool json = false;
  FlagSet flags("accel whoami", "[flags]",
                "Says who you are to the coordinator: name, role and certificate.");
  flags.Switch("json", "print JSON: the message WhoAmIResponse", &json);
  AddConnectionFlags(&flags, &connection);
  flags.Footer("Exit codes: 0; 2: wrong usage; 1: any other error.");
  if (const auto over = ParseOrExplain(flags, args, console)) return *over;
  const auto client = ConnectToCoordinator(connection);
  if (!client.ok()) return Fail(console, client.status());
  const auto caller = (*client)->WhoAmI();
  if (!caller.ok()) return Fail(console, caller.status());
  console.out << (json ? ToJson(*caller, /*pretty=*/true) + "\n" : RenderCaller(*caller));
  return 0;
}

}  // namespace accel::cli
