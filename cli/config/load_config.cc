#include "cli/config/load_config.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "cli/config/core/config_places.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"

namespace accel::cli {

absl::StatusOr<std::string> ReadConfigText(const std::string& path, absl::string_view what) {
  // A pipe would block here.
  const common::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0 && errno == ENOENT) {
    return absl::InvalidArgumentError(absl::StrCat("the ", what, " ", path, " does not exist"));
  }
  if (file.get() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot read the ", what, " ", path, ": ", strerror(errno)));
  }
  struct stat facts {};
  if (fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot read the ", what, " ", path, ": it is not a regular file"));
  }
  // One byte more than allowed shows that the file is too large.
  std::string text(kMaxConfigBytes + 1, '\0');
  size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t bytes = read(file.get(), text.data() + filled, text.size() - filled);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot read the ", what, " ", path, ": ", strerror(errno)));
    }
    if (bytes == 0) break;
    filled += static_cast<size_t>(bytes);
  }
  text.resize(filled);
  return text;
}

std::optional<std::string> FindDefaultConfig(
    const std::function<std::optional<std::string>(const std::string& name)>& env) {
  struct stat facts {};
  for (std::string path : {DefaultConfigPath(env), DefaultJsonConfigPath(env)}) {
    if (stat(path.c_str(), &facts) == 0) return path;
  }
  return std::nullopt;
}

absl::StatusOr<std::optional<ConfigFile>> LoadConfig(
    const std::string& config_file, bool cpu,
    const std::function<std::optional<std::string>(const std::string& name)>& env) {
  std::string path = config_file;
  if (path.empty()) {
    if (cpu) return std::optional<ConfigFile>();
    const std::optional<std::string> found = FindDefaultConfig(env);
    if (!found.has_value()) return std::optional<ConfigFile>();
    path = *found;
  }
  ACCEL_ASSIGN_OR_RETURN(const std::string text, ReadConfigText(path));
  ACCEL_ASSIGN_OR_RETURN(ConfigFile file, ReadConfig(path, text));
  return std::optional<ConfigFile>(std::move(file));
}

}  // namespace accel::cli
