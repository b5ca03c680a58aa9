#include "process/user_rights.h"

#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

#include "common/check.h"

namespace accel::process {
namespace {

// Returns the groups of this process, which each thread has while it has no UserRights.
const std::vector<gid_t>& OwnGroups() {
  static const std::vector<gid_t>* const groups = [] {
    auto* const all = new std::vector<gid_t>(static_cast<size_t>(getgroups(0, nullptr)));
    const int count = getgroups(static_cast<int>(all->size()), all->data());
    all->resize(count < 0 ? 0 : static_cast<size_t>(count));
    return all;
  }();
  return *groups;
}

// Sets the ids with which the calling thread accesses files. Uses the plain system call setgroups,
// because glibc's setgroups() changes all threads. setfsuid() and setfsgid() change only the
// calling thread. They return the previous id, so a second call shows whether the first has worked.
bool SetFileIds(uid_t uid, gid_t gid, const std::vector<gid_t>& groups) {
  // Each change of these ids sets the dumpable flag of the whole process to fs.suid_dumpable. The
  // flag is read only once, before the first change. Later, another thread may be between a change
  // of its ids and the repair of the flag.
  static const bool undumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0;
  if (syscall(SYS_setgroups, groups.size(), groups.data()) != 0) return false;
  setfsgid(gid);
  setfsuid(uid);
  if (undumpable && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return false;
  return setfsgid(gid) == static_cast<int>(gid) && setfsuid(uid) == static_cast<int>(uid);
}

}  // namespace

UserRights::UserRights(const Account& account) : changes_(geteuid() == 0 && account.uid != 0) {
  if (!changes_) return;
  OwnGroups();
  // The kernel removes the capabilities that override permissions when the file user id is
  // no longer 0.
  ACCEL_CHECK(SetFileIds(account.uid, account.gid, account.groups),
              "the kernel refuses root the rights of a user");
}

UserRights::~UserRights() {
  if (!changes_) return;
  // CAP_SETGID does not depend on the file user id, so the groups can be changed back.
  ACCEL_CHECK(SetFileIds(0, getegid(), OwnGroups()), "the kernel keeps root's rights from root");
}

}  // namespace accel::process
