// The command line of `accel-coordinator rotate-ca`.
#pragma once

#include <optional>
#include <string>

namespace accel::coordinator {

// The values of the flags. `--help` describes them (rotate_flags.cc).
struct RotateFlags {
  std::string state_dir;
  bool status = false;
  bool finish = false;
  bool force = false;
};

// Parses the command line, whose second word is "rotate-ca", into *flags and returns nullopt. If
// the command line asks for help or the version, prints the text and returns the exit code 0. If it
// is invalid, prints the error and returns the exit code 2.
std::optional<int> ParseRotateFlags(int argc, char** argv, RotateFlags* flags);

}  // namespace accel::coordinator
