#include "shim/start_checks.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/printable.h"
#include "logs/log_paths.h"
#include "process/program_path.h"

namespace accel::shim {
namespace {

constexpr int kGeneralFailureCode = 1;
constexpr size_t kMaxMessageBytes = 4096;

// Number of the shim's own descriptors: control socket, epoll, signals, wake-ups, control groups,
// and files that are open only briefly.
constexpr uint64_t kOwnFiles = 64;
// A pipe and a segment file for each of two streams.
constexpr uint64_t kFilesOfAWorker = 4;
constexpr uint64_t kConnectionsOfAWorker = 2;

// Works like mkdir -p. On failure returns false and sets errno.
bool MakeFolders(const std::string& path) {
  if (mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return true;
  const size_t slash = path.rfind('/');
  if (errno != ENOENT || slash == std::string::npos || slash == 0) return false;
  if (!MakeFolders(path.substr(0, slash))) return false;
  return mkdir(path.c_str(), 0755) == 0 || errno == EEXIST;
}

// Returns the fact that `what` cannot be reached. Must be called directly after stat() has failed,
// because it reads errno.
ExitFact Unreachable(const std::string& what) {
  const int code = PathErrorCode(errno);
  if (code == process::kNotFoundCode) {
    return NotStarted(code, absl::StrCat(what, " does not exist on this node."));
  }
  return NotStarted(code,
                    absl::StrCat(what, " cannot be reached on this node: ", strerror(errno), "."));
}

}  // namespace

int PathErrorCode(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return process::kNotFoundCode;
    case EACCES:
    case EPERM:
    case ELOOP:
    case ENAMETOOLONG:
      return process::kNotExecutableCode;
    default:
      return kGeneralFailureCode;
  }
}

ExitFact NotStarted(int code, std::string message) {
  ExitFact fact;
  fact.kind = ExitFact::Kind::kNotStarted;
  fact.code = code;
  fact.message = common::Shortened(common::Printable(message), kMaxMessageBytes);
  return fact;
}

uint64_t FilesForOutput(const StartCommand& start) {
  return kOwnFiles + kFilesOfAWorker * start.workers.size();
}

std::optional<ExitFact> FindTooManyFiles(const StartCommand& start, uint64_t limit) {
  const uint64_t connections = start.serves_store ? kConnectionsOfAWorker : 0;
  const uint64_t needed = FilesForOutput(start) + connections * start.workers.size();
  if (needed <= limit) return std::nullopt;
  return NotStarted(process::kNotExecutableCode,
                    absl::StrCat(start.workers.size(), " workers need ", needed,
                                 " open files, and the limit of this node is ", limit,
                                 ". Raise it (ulimit -Hn, LimitNOFILE= of the agent's unit), or "
                                 "start fewer processes."));
}

std::optional<ExitFact> FindMissingPath(const StartCommand& start) {
  struct stat info;
  const std::string& workdir = start.workdir;
  if (!workdir.empty() && stat(workdir.c_str(), &info) != 0) {
    return Unreachable(absl::StrCat("The working directory ", workdir));
  }
  if (!workdir.empty() && !S_ISDIR(info.st_mode)) {
    return NotStarted(process::kNotFoundCode,
                      absl::StrCat("The working directory ", workdir, " is not a folder."));
  }
  for (const std::string& path : start.required_paths) {
    if (path == start.argv[0]) continue;  // The search for the program gives a more precise error.
    const bool relative = !absl::StartsWith(path, "/") && !workdir.empty();
    const std::string full = relative ? absl::StrCat(workdir, "/", path) : path;
    if (stat(full.c_str(), &info) != 0) return Unreachable(path);
  }
  return std::nullopt;
}

std::optional<ExitFact> MakeLogDirs(const StartCommand& start) {
  // Spill folders are made before ranks' folders, because a reader that finds a rank's folder
  // expects the spill folder to exist. Failures are ignored, because output that cannot be spilled
  // may be dropped.
  for (const WorkerStart& worker : start.workers) {
    if (!start.spill_dir.empty()) MakeFolders(logs::RankLogDir(start.spill_dir, worker.rank));
  }
  std::vector<std::string> folders = {start.log_dir};
  for (const WorkerStart& worker : start.workers) {
    folders.push_back(logs::RankLogDir(start.log_dir, worker.rank));
  }
  for (const std::string& folder : folders) {
    if (MakeFolders(folder)) continue;
    return NotStarted(kGeneralFailureCode, absl::StrCat("Cannot make the log folder ", folder,
                                                        " on this node: ", strerror(errno),
                                                        ". Choose another with --log_dir."));
  }
  return std::nullopt;
}

}  // namespace accel::shim
