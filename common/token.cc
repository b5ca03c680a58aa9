#include "common/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/home_dir.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"

namespace accel::common {
namespace {

constexpr size_t kRandomBytes = 32;
constexpr size_t kLeastLength = 16;
constexpr size_t kMaxLength = 4096;

absl::Status ErrnoStatus(absl::string_view what, absl::string_view path) {
  return absl::ErrnoToStatus(errno, absl::StrCat(what, " ", path));
}

absl::StatusOr<std::string> CheckToken(absl::string_view text, absl::string_view where) {
  const std::string token(absl::StripAsciiWhitespace(text));
  bool printable = true;
  for (unsigned char c : token) printable &= c > ' ' && c < 127;
  if (printable && token.size() >= kLeastLength && token.size() <= kMaxLength) return token;
  return absl::InvalidArgumentError(absl::StrCat(where, " does not contain a token: it must be ",
                                                 kLeastLength, " to ", kMaxLength,
                                                 " printable characters without spaces"));
}

absl::Status CheckOwner(int fd, const std::string& path) {
  struct stat info;
  if (fstat(fd, &info) != 0) return ErrnoStatus("cannot stat", path);
  if (!S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is not a plain file"));
  }
  if (info.st_uid != geteuid() && info.st_uid != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " belongs to another user; a token must be your own"));
  }
  if ((info.st_mode & 077) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " can be read or written by others; run: chmod 600 ", path));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> MakeRandomToken() {
  char bytes[kRandomBytes];
  if (getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) {
    return ErrnoStatus("cannot get", "random bytes");
  }
  return absl::BytesToHexString(absl::string_view(bytes, sizeof bytes));
}

absl::Status MakeFolders(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
      return ErrnoStatus("cannot create the folder", folder);
    }
  }
  return absl::OkStatus();
}

absl::Status WriteFile(const std::string& path, const std::string& text) {
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return ErrnoStatus("cannot make", path);
  if (write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      fsync(fd.get()) != 0) {
    return ErrnoStatus("cannot write", path);
  }
  return absl::OkStatus();
}

// Creates the token file atomically. If several processes do so concurrently, the first one wins.
absl::Status MakeTokenFile(const std::string& path) {
  ACCEL_RETURN_IF_ERROR(MakeFolders(path));
  ACCEL_ASSIGN_OR_RETURN(const std::string token, MakeRandomToken());
  ACCEL_ASSIGN_OR_RETURN(const std::string suffix, MakeRandomToken());
  const std::string draft = absl::StrCat(path, ".", suffix.substr(0, 16));
  absl::Status made = WriteFile(draft, token + "\n");
  if (made.ok() && link(draft.c_str(), path.c_str()) != 0 && errno != EEXIST) {
    made = ErrnoStatus("cannot make", path);
  }
  unlink(draft.c_str());
  return made;
}

}  // namespace

absl::StatusOr<std::string> DefaultTokenPath() {
  ACCEL_ASSIGN_OR_RETURN(const std::string home, HomeDir());
  return absl::StrCat(home, "/.config/accel/token");
}

absl::StatusOr<std::string> ReadToken(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return ErrnoStatus("cannot read the token", path);
  ACCEL_RETURN_IF_ERROR(CheckOwner(fd.get(), path));
  char text[kMaxLength + 2];
  const ssize_t size = read(fd.get(), text, sizeof text);
  if (size < 0) return ErrnoStatus("cannot read the token", path);
  return CheckToken(absl::string_view(text, static_cast<size_t>(size)), path);
}

absl::StatusOr<std::string> ReadOrMakeToken(const std::string& path) {
  absl::StatusOr<std::string> token = ReadToken(path);
  if (!absl::IsNotFound(token.status())) return token;
  ACCEL_RETURN_IF_ERROR(MakeTokenFile(path));
  return ReadToken(path);
}

}  // namespace accel::common
