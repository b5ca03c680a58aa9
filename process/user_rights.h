// The rights of a user, for a thread of root that accesses files which the user controls.
#pragma once

#include <sys/types.h>

#include "process/account.h"

namespace accel::process {

// Gives the calling thread the user's rights to files instead of root's, until it is destroyed.
// Other threads keep their rights (docs/decisions/0069). Threads that are started meanwhile
// inherit the user's rights. Does nothing if this process does not run as root, or the account is
// root's. Ends the process if the kernel refuses, because root would otherwise follow links that a
// user has planted.
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
