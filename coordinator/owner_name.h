// The user who runs a coordinator, by name.
#pragma once

#include <pwd.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace accel::coordinator {

// Returns the name of a user, or "uid N" if user N has no name. Not thread-safe.
inline std::string NameOfUser(uid_t uid) {
  const passwd* user = getpwuid(uid);
  return user == nullptr ? absl::StrCat("uid ", uid) : user->pw_name;
}

}  // namespace accel::coordinator
