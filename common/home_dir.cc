#include "common/home_dir.h"

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

namespace accel::common {

absl::StatusOr<std::string> HomeDir() {
  const char* home = getenv("HOME");
  if (home == nullptr || home[0] == '\0') {
    const passwd* user = getpwuid(geteuid());
    home = user == nullptr ? nullptr : user->pw_dir;
  }
  if (home == nullptr || home[0] == '\0') {
    return absl::FailedPreconditionError("there is no home directory; set HOME");
  }
  return std::string(home);
}

}  // namespace accel::common
