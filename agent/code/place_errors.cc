#include "agent/code/place_errors.h"

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace accel::agent {

absl::Status PlaceFailed(absl::string_view what, absl::string_view path) {
  return absl::UnavailableError(
      absl::ErrnoToStatus(errno, absl::StrCat("cannot ", what, " ", path)).message());
}

absl::Status UserPlaceFailed(absl::string_view what, absl::string_view path) {
  switch (const int error = errno) {
    case EACCES:
    case EDQUOT:
    case EEXIST:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case ENOENT:
    case ENOTDIR:
    case ENOTEMPTY:
    case EPERM:
      return absl::InvalidArgumentError(
          absl::ErrnoToStatus(error,
                              absl::StrCat("cannot ", what, " ", path, " for the job's user"))
              .message());
    default:
      return PlaceFailed(what, path);
  }
}

}  // namespace accel::agent
