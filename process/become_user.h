// How a child of Spawn() gives up root's rights for those of a user. Spawn() alone calls this.
#pragma once

#include "process/account.h"

namespace accel::process {

// Makes the calling process the user's, for good: groups, uid, gid, no capabilities, no session
// keyring of the caller, no new privileges by executing a program, umask 022. Returns true if all
// of that holds; otherwise errno has the reason, and the process must exit. Async-signal-safe, and
// safe in a child that shares its parent's memory: each step is a plain system call, because
// glibc's functions would change every thread of that memory. Allocates nothing.
bool BecomeUser(const Account& account);

// Gives the calling process a /dev/shm of its own, on which its children share memory, and which
// vanishes with the last of them. Bounded to half of the machine's memory. The rest of the file
// system remains as it is, mounts that are made later included. The same rules as BecomeUser().
bool MakePrivateSharedMemory();

}  // namespace accel::process
