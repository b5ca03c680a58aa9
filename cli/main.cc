// The `accel` command.
#include <grpc/support/log.h>

#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "cli/command_table.h"
#include "cli/completion/completion_command.h"
#include "cli/dispatch.h"

namespace {

// gRPC would write to standard error why a connection failed. The commands say it in their own
// words. Its last words before it aborts are written, and with GRPC_VERBOSITY=INFO or DEBUG all of
// its lines.
void TakeGrpcLine(gpr_log_func_args* line) {
  const bool is_fatal = std::strstr(line->message, "assertion failed") != nullptr;
  if (!is_fatal && gpr_should_log(GPR_LOG_SEVERITY_INFO) == 0) return;
  std::fprintf(stderr, "%s:%d: %s\n", line->file, line->line, line->message);
}

}  // namespace

int main(int argc, char** argv) {
  gpr_set_log_function(TakeGrpcLine);
  std::vector<accel::cli::Command> commands = accel::cli::CommandTable();
  commands.push_back({"completion", "print the script that completes the words of a shell",
                      [&commands](const auto& args, const auto& console) {
                        return accel::cli::RunCompletion(commands, args, console);
                      }});
  const accel::cli::Console console{std::cout, std::cerr, accel::cli::OutputHasColors(), nullptr};
  const int exit_code =
      accel::cli::Dispatch(commands, std::vector<std::string>(argv + 1, argv + argc), console);
  std::cout << std::flush;
  return std::cout ? exit_code : accel::cli::kExitError;  // A full disk is an error.
}
