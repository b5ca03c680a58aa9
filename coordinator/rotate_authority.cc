#include "coordinator/rotate_authority.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/state_dir.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "coordinator/access/audit_log.h"
#include "coordinator/core/access/access_rows.h"
#include "coordinator/members/authority_files.h"
#include "coordinator/members/rotation_progress.h"
#include "coordinator/owner_name.h"
#include "coordinator/store/sqlite_file.h"

namespace accel::coordinator {
namespace {

// Maximum time to wait for another command to finish its step.
constexpr absl::Duration kLockTimeout = absl::Seconds(5);

// Refuses a directory of another user, because that user's coordinator could not read the files
// that root makes.
absl::Status CheckOwner(const std::string& state_dir) {
  struct stat info;
  if (stat(state_dir.c_str(), &info) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot look at ", state_dir));
  }
  if (info.st_uid == geteuid()) return absl::OkStatus();
  const std::string owner = NameOfUser(info.st_uid);
  return absl::FailedPreconditionError(absl::StrCat(state_dir, " belongs to ", owner,
                                                    "; run this command as that user: sudo -u ",
                                                    owner, " accel-coordinator rotate-ca ..."));
}

// Returns the stored members, credentials and keys. A coordinator may be running.
absl::StatusOr<AccessState> ReadMembers(const std::string& state_dir) {
  ACCEL_ASSIGN_OR_RETURN(const auto file, SqliteFile::Open(state_dir + "/cluster.db",
                                                           SqliteFile::Missing::kIsAnError));
  ACCEL_ASSIGN_OR_RETURN(const std::vector<Row> rows, file->Read());
  AccessState state;
  for (const Row& row : rows) ACCEL_RETURN_IF_ERROR(TakeAccessRow(row, &state).status());
  return state;
}

// Opens the audit log. It is opened before a step, because a step that was made must not be
// reported as failed.
absl::StatusOr<std::unique_ptr<AuditLog>> OpenLog(const std::string& state_dir) {
  return AuditLog::Open(state_dir + "/audit.jsonl");
}

void Note(AuditLog& log, absl::string_view action, const std::string& object) {
  log.Write({.caller = {.kind = CallerKind::kOwner, .name = NameOfUser(geteuid())},
             .peer = "accel-coordinator rotate-ca",
             .action = action,
             .object = object,
             .result = "ok"});
}

std::string Next(const RotateFlags& flags) {
  return absl::StrCat("; `accel-coordinator rotate-ca --status --state_dir ", flags.state_dir,
                      "` says who is left, and --finish deletes the old one");
}

std::string NoRotation(const ClusterAuthority& authority) {
  return absl::StrCat("no rotation of the authority of cluster ", authority.cluster_id(),
                      " is under way");
}

absl::StatusOr<std::string> Status(const RotateFlags& flags, const ClusterAuthority& authority) {
  if (!authority.is_rotating()) return NoRotation(authority);
  ACCEL_ASSIGN_OR_RETURN(const AccessState members, ReadMembers(flags.state_dir));
  const RotationProgress progress =
      CountCertificates(members, authority.present().certificate, absl::Now());
  std::string text = absl::StrCat(
      "the authority of cluster ", authority.cluster_id(), " is being rotated: ", progress.issued,
      " valid certificates are of the new one, and ", progress.former.size(), " of the old one\n",
      Describe(progress.former));
  if (progress.former.empty()) {
    absl::StrAppend(&text, "finish it with: accel-coordinator rotate-ca --finish --state_dir ",
                    flags.state_dir, "\n");
  }
  text.pop_back();
  return text;
}

absl::StatusOr<std::string> Begin(const RotateFlags& flags, const ClusterAuthority& authority) {
  if (authority.is_rotating()) {
    return absl::StrCat("the authority of cluster ", authority.cluster_id(),
                        " is being rotated already", Next(flags));
  }
  ACCEL_ASSIGN_OR_RETURN(const auto log, OpenLog(flags.state_dir));
  ACCEL_RETURN_IF_ERROR(BeginRotation(flags.state_dir, authority, absl::Now()).status());
  Note(*log, "rotate_authority", authority.cluster_id());
  return absl::StrCat("the rotation of the authority of cluster ", authority.cluster_id(),
                      " has begun: new certificates and keys are of a new authority, and both are "
                      "trusted",
                      Next(flags));
}

absl::StatusOr<std::string> Finish(const RotateFlags& flags, const ClusterAuthority& authority) {
  if (!authority.is_rotating()) {
    ACCEL_RETURN_IF_ERROR(FinishRotation(flags.state_dir));
    return NoRotation(authority);
  }
  ACCEL_ASSIGN_OR_RETURN(const AccessState members, ReadMembers(flags.state_dir));
  const RotationProgress progress =
      CountCertificates(members, authority.present().certificate, absl::Now());
  const size_t left = progress.former.size();
  if (left > 0 && !flags.force) {
    return absl::FailedPreconditionError(absl::StrCat(
        left, " valid certificates are still of the old authority, and would be refused:\n",
        Describe(progress.former),
        "start the agents of these nodes, let these users run two commands, or revoke what does "
        "not come back (accel node revoke NAME, accel user revoke NAME SERIAL), and run this "
        "again; with --force, these must join or log in again"));
  }
  ACCEL_ASSIGN_OR_RETURN(const auto log, OpenLog(flags.state_dir));
  ACCEL_RETURN_IF_ERROR(FinishRotation(flags.state_dir));
  Note(*log, "finish_rotation",
       absl::StrCat(authority.cluster_id(), ", ", left, " certificates are refused"));
  return absl::StrCat("the rotation of the authority of cluster ", authority.cluster_id(),
                      " is finished: the old authority is deleted",
                      left == 0 ? ""
                                : absl::StrCat(", and these must join or log in again:\n",
                                               Describe(progress.former)));
}

}  // namespace

absl::StatusOr<std::string> RotateAuthority(const RotateFlags& flags) {
  ACCEL_RETURN_IF_ERROR(CheckOwner(flags.state_dir));
  // Reads before taking the lock, because LockStateDir() would create a missing directory.
  ACCEL_RETURN_IF_ERROR(ReadAuthority(flags.state_dir).status());
  if (flags.status) {
    ACCEL_ASSIGN_OR_RETURN(const ClusterAuthority now, ReadAuthority(flags.state_dir));
    return Status(flags, now);
  }
  ACCEL_ASSIGN_OR_RETURN(const common::UniqueFd lock,
                         common::LockStateDir(flags.state_dir, "rotation", kLockTimeout));
  ACCEL_ASSIGN_OR_RETURN(const ClusterAuthority authority, ReadAuthority(flags.state_dir));
  return flags.finish ? Finish(flags, authority) : Begin(flags, authority);
}

}  // namespace accel::coordinator
