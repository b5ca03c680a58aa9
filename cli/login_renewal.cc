#include "cli/login_renewal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "security/certificate.h"
#include "security/identity_files.h"
#include "security/renewal_time.h"
#include "security/rotation.h"

namespace accel::cli {
namespace {

// Pause between two attempts for one login. It bounds what a coordinator that does not answer
// costs the commands, and what a wrong clock does, with which a new certificate can look old.
constexpr absl::Duration kAttemptPause = absl::Hours(1);
// The same during a rotation, which an administrator waits for.
constexpr absl::Duration kRotationPause = absl::Minutes(1);

std::string LockPath(const std::string& folder) {
  const std::filesystem::path path(folder);
  return absl::StrCat(path.parent_path().string(), "/.renewal-", path.filename().string());
}

absl::StatusOr<bool> IsDue(const security::ClientIdentity& identity, absl::Time wall) {
  ACCEL_ASSIGN_OR_RETURN(const security::Certificate certificate,
                         security::Certificate::FromPem(identity.certificate));
  return wall >= security::RenewalTime(certificate.not_before(), certificate.not_after(), 0);
}

// Opens the file whose lock is that of the login, and whose time is that of the last attempt.
// `is_new` becomes true if there was none.
absl::StatusOr<common::UniqueFd> OpenLock(const std::string& folder, bool* is_new) {
  const std::string path = LockPath(folder);
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_CREAT;
  common::UniqueFd fd(open(path.c_str(), kFlags | O_EXCL, 0600));
  *is_new = fd.valid();
  if (!fd.valid() && errno == EEXIST) fd = common::UniqueFd(open(path.c_str(), kFlags, 0600));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, "cannot open " + path);
  return fd;
}

// Notes an attempt at `wall`. Returns false if there was one less than `pause` before.
bool NoteAttempt(int lock, bool is_new, absl::Time wall, absl::Duration pause) {
  struct stat info = {};
  if (!is_new && fstat(lock, &info) == 0) {
    const absl::Duration since = wall - absl::TimeFromTimespec(info.st_mtim);
    if (since >= absl::ZeroDuration() && since < pause) return false;
  }
  const timespec now = absl::ToTimespec(wall);
  const timespec times[] = {now, now};
  futimens(lock, times);  // If it fails, the next command tries again.
  return true;
}

}  // namespace

absl::Status RenewLogin(const Login& login, absl::Time wall, const std::string& named,
                        security::AskForCertificate ask) {
  ACCEL_ASSIGN_OR_RETURN(const bool is_due, IsDue(login.identity, wall));
  const bool is_outdated = security::IsOutdated(login.identity, named);
  if (!is_due && !is_outdated) return absl::OkStatus();
  bool is_new = false;
  ACCEL_ASSIGN_OR_RETURN(const common::UniqueFd lock, OpenLock(login.folder, &is_new));
  // A file system without locks is no reason to let the login expire: two renewals at the same time
  // leave the identity of one of them.
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return absl::OkStatus();
  const security::IdentityFiles files(login.folder, "user");
  ACCEL_ASSIGN_OR_RETURN(const security::ClientIdentity present, files.Read());
  // Another command was faster. The next one sees whether the new certificate is due.
  if (present.certificate != login.identity.certificate) return absl::OkStatus();
  const absl::Duration pause = is_outdated ? kRotationPause : kAttemptPause;
  if (!NoteAttempt(lock.get(), is_new, wall, pause)) return absl::OkStatus();
  return security::RenewIdentity(files, present, wall, ask).status();
}

absl::StatusOr<common::UniqueFd> LockLogin(const std::string& folder) {
  bool is_new = false;
  ACCEL_ASSIGN_OR_RETURN(common::UniqueFd lock, OpenLock(folder, &is_new));
  while (flock(lock.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  return lock;
}

}  // namespace accel::cli
