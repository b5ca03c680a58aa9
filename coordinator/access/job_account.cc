#include "coordinator/access/job_account.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "security/principal.h"

namespace accel::coordinator {
namespace {

constexpr char kRoot[] = "root";

}  // namespace

absl::Status CheckAccountName(const std::string& what, const std::string& name) {
  ACCEL_RETURN_IF_ERROR(security::CheckPrincipalName(what, name));
  if (name != kRoot) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": jobs do not run as root; name an ordinary account"));
}

absl::StatusOr<std::string> ChooseAccount(const Caller& caller, const std::string& own,
                                          const std::string& wish) {
  const std::string& usual = own.empty() ? caller.name : own;
  // The account of the coordinator's own user may be root. The agents decide whether to allow it.
  const bool is_coordinators = caller.kind == CallerKind::kOwner;
  if (wish.empty() || wish == usual) {
    if (!is_coordinators) ACCEL_RETURN_IF_ERROR(CheckAccountName("runs_as", usual));
    return usual;
  }
  if (!IsAdmin(caller)) {
    return absl::PermissionDeniedError(
        absl::StrCat("runs_as: jobs of ", caller.name, " run as ", usual,
                     "; only an administrator may name another account"));
  }
  ACCEL_RETURN_IF_ERROR(CheckAccountName("runs_as", wish));
  return wish;
}

}  // namespace accel::coordinator
