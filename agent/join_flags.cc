#include "agent/join_flags.h"

#include <CLI/CLI.hpp>

namespace accel::agent {
namespace {

constexpr char kFooter[] =
    "The key comes from `accel node add`, and is never an argument, because other users could read "
    "it there. In one line, from the coordinator's machine:\n"
    "  accel node add | ssh NODE accel-agent join --state_dir DIR\n"
    "If the answer was lost, run the same command again with the same key.\n"
    "Exit codes: 0 the node has joined; 1 it has not, and the reason is on standard error; 2 wrong "
    "usage, or the key is damaged.";

}  // namespace

std::optional<int> ParseJoinFlags(int argc, char** argv, JoinOptions* options) {
  CLI::App app("Makes this machine a node of a cluster.", "accel-agent join");
  app.footer(kFooter);
  app.add_option("--state_dir,--state-dir", options->state_dir,
                 "the agent's directory, made if missing")
      ->required();
  app.add_option("--name", options->name, "name of this node; default: the host's name");
  app.add_option("--key_file,--key-file", options->key_file,
                 "file with the key, - for standard input; default: asks for it on a terminal, "
                 "otherwise standard input");
  try {
    app.parse(argc - 1, argv + 1);  // The first word stands for the program's name.
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

}  // namespace accel::agent
