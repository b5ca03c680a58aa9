#include "cli/config/save_config.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/unique_fd.h"

namespace accel::cli {
namespace {

absl::Status Failed(absl::string_view what, const std::string& path, int error) {
  return absl::UnavailableError(absl::StrCat("cannot ", what, " ", path, ": ", strerror(error),
                                             "; name another file with --config_file"));
}

absl::Status WriteAll(int fd, absl::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failed("write", path, errno);
    text.remove_prefix(static_cast<size_t>(written));
  }
  return fsync(fd) == 0 ? absl::OkStatus() : Failed("write", path, errno);
}

}  // namespace

absl::Status SaveConfig(const std::string& path, absl::string_view text, bool may_replace) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) return Failed("make the folder", folder.string(), error.value());
  const std::string temporary = absl::StrCat(path, ".", getpid(), ".tmp");
  {
    const common::UniqueFd file(
        open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (file.get() < 0) return Failed("write", path, errno);
    if (const absl::Status written = WriteAll(file.get(), text, path); !written.ok()) {
      unlink(temporary.c_str());
      return written;
    }
  }
  // link() fails if the file exists, rename() replaces it.
  const int moved =
      may_replace ? rename(temporary.c_str(), path.c_str()) : link(temporary.c_str(), path.c_str());
  const int why = errno;
  unlink(temporary.c_str());
  if (moved == 0) return absl::OkStatus();
  if (why == EEXIST) {
    return absl::AlreadyExistsError(
        absl::StrCat("Configuration already exists at ", path,
                     ", will not override. Run `accel "
                     "config` or name another file with --config_file."));
  }
  return Failed("write", path, why);
}

}  // namespace accel::cli
