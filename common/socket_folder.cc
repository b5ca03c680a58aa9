#include "common/socket_folder.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace accel::common {

absl::Status CheckSocketFolder(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  struct stat info;
  if (lstat(folder.c_str(), &info) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot stat ", folder));
  }
  const auto refuse = [&folder](absl::string_view why) {
    return absl::FailedPreconditionError(
        absl::StrCat("will not use the coordinator's socket in ", folder, ", because ", why));
  };
  if (!S_ISDIR(info.st_mode)) return refuse("it is not a folder");
  if (info.st_uid != geteuid() && info.st_uid != 0) return refuse("it belongs to another user");
  if ((info.st_mode & 022) != 0) {
    return refuse(absl::StrCat("other users can write to it; run: chmod go-w ", folder));
  }
  return absl::OkStatus();
}

}  // namespace accel::common
