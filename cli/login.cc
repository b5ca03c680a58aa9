// The command `accel login`, which gets a user a certificate of a cluster. The user's files are
// in ~/.config/accel/clusters/CLUSTER/ (security/identity_files.h).
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/json_object.h"
#include "cli/login_files.h"
#include "cli/login_renewal.h"
#include "common/secret_input.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "common/version.h"
#include "security/enrolment/enrolment_client.h"
#include "security/enrolment/join_string.h"
#include "security/identity_files.h"
#include "security/signing_request.h"

namespace accel::cli {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(15);

absl::Status MakeFolders(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || chmod(folder.c_str(), 0700) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot make ", folder, error ? ": " + error.message() : ""));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadKey(const std::string& key_file) {
  const char* const login = std::getenv("ACCEL_LOGIN");
  if (key_file.empty() && login != nullptr && *login != '\0') return std::string(login);
  return common::ReadSecretInput(key_file, "Key from `accel user add`: ");
}

std::string HostName() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

struct LoggedIn {
  std::string cluster, address, name;
};

// Enrols this machine.
absl::StatusOr<LoggedIn> LogIn(const std::string& text) {
  ACCEL_ASSIGN_OR_RETURN(const security::JoinString key, security::ParseJoinString(text));
  ACCEL_ASSIGN_OR_RETURN(const std::string clusters, ClustersFolder());
  // The key pair is kept by the token's id until the cluster's name is known, so that a login whose
  // answer was lost can be repeated.
  const std::string pending = absl::StrCat(clusters, "/.login-", key.token_id);
  ACCEL_RETURN_IF_ERROR(MakeFolders(pending));
  const security::IdentityFiles draft(pending, "user");
  ACCEL_ASSIGN_OR_RETURN(const security::PrivateKey own, draft.ReadOrMakeKey());
  security::EnrolmentRequest request;
  request.kind = security::PrincipalKind::kUser;
  ACCEL_ASSIGN_OR_RETURN(request.csr, security::MakeRequest(own));
  request.label = HostName();
  request.version = common::kVersion;
  ACCEL_ASSIGN_OR_RETURN(const security::EnrolmentAnswer answer,
                         security::Enrol(key, std::move(request), absl::Now(), kTimeout));
  ACCEL_RETURN_IF_ERROR(security::CheckPrincipalName("the cluster's id", answer.cluster));
  ACCEL_RETURN_IF_ERROR(draft.Write(answer.certificate, answer.authorities, key.address));
  const std::string folder = absl::StrCat(clusters, "/", answer.cluster);
  // A command that renews the earlier login must not write into this one.
  ACCEL_ASSIGN_OR_RETURN(const common::UniqueFd lock, LockLogin(folder));
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  std::filesystem::rename(pending, folder, error);
  if (error) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot make ", folder, ": ", error.message()));
  }
  ACCEL_RETURN_IF_ERROR(SetDefaultCluster(answer.cluster));
  return LoggedIn{answer.cluster, key.address, answer.name};
}

}  // namespace

int RunLogin(const std::vector<std::string>& args, const Console& console) {
  std::string key_file;
  bool json = false;
  FlagSet flags("accel login", "[flags]",
                "Makes this machine known to a cluster with the key that `accel user add` has "
                "printed. The key is asked for, or read from standard input, from --key_file, or "
                "from the environment variable ACCEL_LOGIN. It is never an argument, because other "
                "users could read it there.");
  flags.Text("key_file", "FILE", "read the key from this file; - is standard input", &key_file);
  flags.Switch("json", "print JSON (docs/json.md)", &json);
  flags.Footer("Exit codes: 0; 2: the key is damaged, or wrong usage; 1: any other error.");
  if (const auto over = ParseOrExplain(flags, args, console)) return *over;
  const absl::StatusOr<std::string> key = ReadKey(key_file);
  if (!key.ok()) return Fail(console, key.status());
  const absl::StatusOr<LoggedIn> done = LogIn(*key);
  if (!done.ok()) return Fail(console, done.status());
  if (json) {
    console.out << JsonObject::Versioned()
                       .Text("cluster", done->cluster)
                       .Text("address", done->address)
                       .Text("name", done->name)
                       .Print()
                << "\n";
  } else {
    PrintMessage(console, absl::StrCat("logged in to cluster ", done->cluster, " at ",
                                       done->address, " as ", done->name));
  }
  return 0;
}

}  // namespace accel::cli
