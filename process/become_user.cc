// The order of the steps matters, because each one takes away a right that an earlier one needs:
//
// clang-format off
//   session keyring    a new one, because the job could otherwise read the keys of root's session
//   oom_score_adj      0, because systemd may spare the agent, but its jobs must not be spared
//   ambient set        cleared, because it would survive execve
//   groups, gid, uid   groups and gid first: they may be changed by root only
//   capabilities       all sets except the bounding one are emptied, whatever securebits say
//   root again?        must fail, or else the uid was not really given up
//   no_new_privs       a setuid program gains nothing
// clang-format on

#include "process/become_user.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#define ACCEL_RUNS_IN_CHILD __attribute__((no_sanitize("address")))

namespace accel::process {
namespace {

// Returns true if the kernel has no keyrings or ambient capabilities, so that there is nothing
// to take away.
ACCEL_RUNS_IN_CHILD bool IsMissing(int error) { return error == ENOSYS || error == EINVAL; }

ACCEL_RUNS_IN_CHILD void ResetOomScore() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  static_cast<void>(!write(file, "0", 1));
  close(file);
}

ACCEL_RUNS_IN_CHILD bool DropCapabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  return syscall(SYS_capset, &header, none) == 0;
}

ACCEL_RUNS_IN_CHILD bool SwitchIds(const Account& account) {
  const gid_t* groups = account.groups.data();
  if (syscall(SYS_setgroups, account.groups.size(), groups) != 0) return false;
  if (syscall(SYS_setresgid, account.gid, account.gid, account.gid) != 0) return false;
  return syscall(SYS_setresuid, account.uid, account.uid, account.uid) == 0;
}

// Returns true if the process has the user's ids and cannot get root's ids again.
ACCEL_RUNS_IN_CHILD bool IsUser(const Account& account) {
  uid_t uid[3];
  gid_t gid[3];
  if (getresuid(&uid[0], &uid[1], &uid[2]) != 0 || getresgid(&gid[0], &gid[1], &gid[2]) != 0) {
    return false;
  }
  bool is_user = true;
  for (int i = 0; i < 3; ++i) is_user = is_user && uid[i] == account.uid && gid[i] == account.gid;
  is_user = is_user && syscall(SYS_setresuid, 0, 0, 0) != 0;
  if (!is_user) errno = EPERM;
  return is_user;
}

}  // namespace

ACCEL_RUNS_IN_CHILD bool BecomeUser(const Account& account) {
  if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) < 0 && !IsMissing(errno) &&
      errno != EPERM) {
    return false;
  }
  ResetOomScore();
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 && !IsMissing(errno)) {
    return false;
  }
  if (!SwitchIds(account) || !DropCapabilities() || !IsUser(account)) return false;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  umask(022);
  return true;
}

ACCEL_RUNS_IN_CHILD bool MakePrivateSharedMemory() {
  return unshare(CLONE_NEWNS) == 0 && mount("", "/", nullptr, MS_SLAVE | MS_REC, nullptr) == 0 &&
         mount("accel", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777,size=50%") == 0;
}

}  // namespace accel::process
