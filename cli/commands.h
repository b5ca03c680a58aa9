// The commands that call a coordinator. Each takes the arguments after its name and returns the
// exit code of accel (docs/exit-codes.md).
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace accel::cli {

int RunSubmit(const std::vector<std::string>& args, const Console& console);
int RunResubmit(const std::vector<std::string>& args, const Console& console);
int RunStatus(const std::vector<std::string>& args, const Console& console);
int RunLogs(const std::vector<std::string>& args, const Console& console);
int RunCancel(const std::vector<std::string>& args, const Console& console);
int RunDrain(const std::vector<std::string>& args, const Console& console);
int RunNode(const std::vector<std::string>& args, const Console& console);
int RunUser(const std::vector<std::string>& args, const Console& console);
int RunLogin(const std::vector<std::string>& args, const Console& console);
int RunWhoAmI(const std::vector<std::string>& args, const Console& console);
int RunNodes(const std::vector<std::string>& args, const Console& console);

}  // namespace accel::cli
