// From the words of a command line to what a node executes. Pure: what it needs to know of the
// machine is asked of `Surroundings`.
//
//   train.py --lr 3        ->  PYTHON -u /cwd/train.py --lr 3
//   -m pkg.train --lr 3    ->  PYTHON -u -m pkg.train --lr 3
//   ./train, /opt/train    ->  /cwd/train, /opt/train
//   train                  ->  from PATH, else /cwd/train, else as it is: the node looks in PATH
//
// PYTHON is --python, else the active environment's ($VIRTUAL_ENV, then $CONDA_PREFIX), else
// python3 or python from PATH. Symbolic links stay: a virtual environment is one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace accel::cli {

enum class FileKind { kMissing, kFile, kExecutable, kDirectory };

// What a submitting process sees around it.
struct Surroundings {
  std::string cwd;  // Absolute.
  // The value of an environment variable; nullopt if it is not set.
  std::function<std::optional<std::string>(const std::string& name)> env;
  std::function<FileKind(const std::string& path)> probe;
};

// Of this process. UNAVAILABLE: the working directory is gone.
absl::StatusOr<Surroundings> RealSurroundings();

// `path` itself if it is absolute, else below `cwd`; "./" in front is dropped.
std::string AbsolutePath(absl::string_view path, absl::string_view cwd);

struct ProgramRequest {
  std::vector<std::string> words;  // PROGRAM (or MODULE) and its arguments.
  bool module = false;
  bool no_python = false;   // An executable even if it ends in .py.
  std::string python = "";  // Path or name; empty: the active environment's.
};

struct Program {
  std::vector<std::string> argv;
  std::vector<std::string> required_paths;  // Absolute: the interpreter or executable, the script.
  std::string name;  // For people: the last part of the program's path, or the module.
};

// INVALID_ARGUMENT: no program, or flags that contradict each other. That the files exist is not
// checked: they may be on the nodes alone.
absl::StatusOr<Program> ResolveProgram(const ProgramRequest& request, const Surroundings& around);

}  // namespace accel::cli
