#include "security/secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/random_hex.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"

namespace accel::security {
namespace {

absl::Status Failed(absl::string_view what, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", what, " ", path));
}

absl::Status WriteDraft(const std::string& path, absl::string_view content) {
  // O_EXCL never follows a link that another user has put at this path.
  const common::UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return Failed("create", path);
  if (write(fd.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size()) ||
      fsync(fd.get()) != 0) {
    return Failed("write", path);
  }
  return absl::OkStatus();
}

absl::Status CheckOwner(int fd, const std::string& path) {
  struct stat info;
  if (fstat(fd, &info) != 0) return Failed("look at", path);
  if (!S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is not a plain file"));
  }
  if (info.st_uid != geteuid() && info.st_uid != 0) {
    return absl::FailedPreconditionError(absl::StrCat(path, " belongs to another user"));
  }
  if ((info.st_mode & 077) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " can be read or written by others; run: chmod 600 ", path));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteSecretFile(const std::string& path, absl::string_view content) {
  ACCEL_ASSIGN_OR_RETURN(const std::string suffix, common::RandomHex());
  const std::string draft = absl::StrCat(path, ".", suffix);
  absl::Status written = WriteDraft(draft, content);
  if (written.ok() && rename(draft.c_str(), path.c_str()) != 0) written = Failed("write", path);
  if (!written.ok()) {
    unlink(draft.c_str());
    return written;
  }
  const std::string folder = std::filesystem::path(path).parent_path();
  const common::UniqueFd names(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!names.valid() || fsync(names.get()) != 0) return Failed("write", folder);
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadSecretFile(const std::string& path) {
  const common::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return Failed("read", path);
  ACCEL_RETURN_IF_ERROR(CheckOwner(fd.get(), path));
  std::string content(kMaxSecretFileBytes + 1, '\0');
  size_t size = 0;
  while (size < content.size()) {
    const ssize_t got = read(fd.get(), content.data() + size, content.size() - size);
    if (got < 0) return Failed("read", path);
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  if (size > kMaxSecretFileBytes) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " has more than ", kMaxSecretFileBytes, " bytes"));
  }
  content.resize(size);
  return content;
}

}  // namespace accel::security
