// The rights of a user, for the time in which root touches files that the user controls.
#pragma once

#include <sys/types.h>

#include "process/account.h"

namespace accel::process {

// Gives the calling thread the user's rights to files, and takes root's away, until destroyed.
// Other threads keep theirs (docs/decisions/0069). Threads that are started meanwhile inherit the
// user's. Does nothing if this process is not root's, or the account is root's. Ends the process if
// the kernel refuses, because root would then follow links that a user has planted.
class UserRights {
 public:
  // `account` must outlive the object.
  explicit UserRights(const Account& account);
  ~UserRights();
  UserRights(const UserRights&) = delete;
  UserRights& operator=(const UserRights&) = delete;

 private:
  const bool changes_;
};

}  // namespace accel::process
