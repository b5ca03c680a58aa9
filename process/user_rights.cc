#include "process/user_rights.h"

#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

#include "common/check.h"

namespace accel::process {
namespace {

// The groups of this process, which are those of each thread outside of UserRights.
const std::vector<gid_t>& OwnGroups() {
  static const std::vector<gid_t>* const groups = [] {
    auto* const all = new std::vector<gid_t>(static_cast<size_t>(getgroups(0, nullptr)));
    const int count = getgroups(static_cast<int>(all->size()), all->data());
    all->resize(count < 0 ? 0 : static_cast<size_t>(count));
    return all;
  }();
  return *groups;
}

// Plain system calls, because glibc's setgroups() changes all threads. The other two change the
// calling thread alone. They return the id before, so a second call tells whether it has changed.
bool SetFileIds(uid_t uid, gid_t gid, const std::vector<gid_t>& groups) {
  // Each change of these ids makes the whole process dumpable again, or dumpable by root, if
  // fs.suid_dumpable says so. What it was is asked before the first change, because other threads
  // may be between a change and its repair later.
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
  // The kernel takes the capabilities that override permissions away with the file user id 0.
  ACCEL_CHECK(SetFileIds(account.uid, account.gid, account.groups),
              "the kernel refuses root the rights of a user");
}

UserRights::~UserRights() {
  if (!changes_) return;
  // The file user id does not decide about CAP_SETGID, so the groups can be changed back.
  ACCEL_CHECK(SetFileIds(0, getegid(), OwnGroups()), "the kernel keeps root's rights from root");
}

}  // namespace accel::process
