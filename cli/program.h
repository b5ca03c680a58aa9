// Resolves the words of a command line to the command that a node executes. Pure: all facts about
// the machine come from `CallerContext`.
//
//   train.py --lr 3        ->  PYTHON -u /cwd/train.py --lr 3
//   -m pkg.train --lr 3    ->  PYTHON -u -m pkg.train --lr 3
//   ./train, /opt/train    ->  /cwd/train, /opt/train
//   train                  ->  from PATH, else /cwd/train, else unchanged: the node searches PATH
//
// PYTHON is --python, else the active environment's ($VIRTUAL_ENV, then $CONDA_PREFIX), else
// python3 or python from PATH. Symbolic links are not resolved, because the interpreter of a
// virtual environment is itself such a link.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace accel::cli {

enum class FileKind { kMissing, kFile, kExecutable, kDirectory };

// The facts about a process and its machine that the command line depends on.
struct CallerContext {
  std::string cwd;  // Absolute.
  // Returns the value of an environment variable, or nullopt if it is not set.
  std::function<std::optional<std::string>(const std::string& name)> env;
  std::function<FileKind(const std::string& path)> probe;
};

// Returns the context of this process. UNAVAILABLE: the working directory no longer exists.
absl::StatusOr<CallerContext> RealCallerContext();

// Returns `path` if it is absolute, else `path` below `cwd`, without a leading "./".
std::string AbsolutePath(absl::string_view path, absl::string_view cwd);

struct ProgramRequest {
  std::vector<std::string> words;  // PROGRAM (or MODULE) and its arguments.
  bool module = false;
  bool no_python = false;   // PROGRAM is an executable, even if it ends in .py.
  std::string python = "";  // Path or name. If empty, the active environment's.
};

struct Program {
  std::vector<std::string> argv;
  std::vector<std::string> required_paths;  // Absolute: the interpreter or executable, the script.
  std::string name;  // Name to display: the last part of the program's path, or the module.
};

// Returns the command for `request`. INVALID_ARGUMENT: there is no program, or flags contradict
// each other. Does not check that the files exist, because they may exist on the nodes only.
absl::StatusOr<Program> ResolveProgram(const ProgramRequest& request, const CallerContext& context);

// The files of an upload.
struct UploadedFiles {
  std::string root;  // The uploaded folder. Absolute.
  // Returns true if the folder has this relative path.
  std::function<bool(const std::string& path)> has;
};

// Returns the command for a job whose nodes have an upload instead of the files of this machine.
// The command starts in the folder of the upload, so paths in the upload are relative to this
// folder. The node searches other names in its PATH. PYTHON is --python, or python3 in that PATH.
// INVALID_ARGUMENT: a script is not in the upload. Other errors are those of ResolveProgram().
absl::StatusOr<Program> ResolveUploadedProgram(const ProgramRequest& request,
                                               const UploadedFiles& upload,
                                               const CallerContext& context);

}  // namespace accel::cli
