// Lets a child of Spawn() give up root's rights and take those of a user. Only Spawn()
// calls these functions.
#pragma once

#include "process/account.h"

namespace accel::process {

// Makes the calling process run as the user permanently. The process gets the user's groups,
// uid and gid, umask 022, and no capabilities. It also gets a new session keyring, unless the
// kernel has no keyrings or forbids it. Programs that it executes cannot gain privileges. Returns
// true on success. Otherwise errno has the reason, and the process must exit. Async-signal-safe,
// and safe in a child that shares its parent's memory. It uses plain system calls, because glibc's
// functions would change all threads of that memory. Allocates nothing.
bool BecomeUser(const Account& account);

// Gives the calling process and its descendants their own /dev/shm, which disappears when the last
// of them has ended. Its size is bounded to half of the machine's memory. The rest of the file
// system is unchanged, and mounts that the host makes later still appear in it. The result and the
// rules are those of BecomeUser().
bool MakePrivateSharedMemory();

}  // namespace accel::process
