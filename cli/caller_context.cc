// Makes the CallerContext of cli/program.h from the operating system.
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "cli/program.h"

namespace accel::cli {
namespace {

FileKind Probe(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return FileKind::kMissing;
  if (S_ISDIR(facts.st_mode)) return FileKind::kDirectory;
  return ::access(path.c_str(), X_OK) == 0 ? FileKind::kExecutable : FileKind::kFile;
}

std::optional<std::string> Env(const std::string& name) {
  const char* value = ::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// Returns the shell's name for the directory ($PWD) if it is valid. Users know the directory by
// that name, and its symbolic links may lead elsewhere on the nodes.
std::string LogicalDirectory(const std::string& physical) {
  const std::string named = Env("PWD").value_or("");
  struct stat a {
  }, b{};
  const bool same = !named.empty() && named[0] == '/' && ::stat(named.c_str(), &a) == 0 &&
                    ::stat(physical.c_str(), &b) == 0 && a.st_dev == b.st_dev &&
                    a.st_ino == b.st_ino;
  return same ? named : physical;
}

}  // namespace

absl::StatusOr<CallerContext> RealCallerContext() {
  std::error_code error;
  const std::filesystem::path cwd = std::filesystem::current_path(error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("the working directory is gone (", error.message(), "): cd to another"));
  }
  return CallerContext{LogicalDirectory(cwd.string()), Env, Probe};
}

}  // namespace accel::cli
