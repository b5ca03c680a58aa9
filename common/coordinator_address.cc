#include "common/coordinator_address.h"

#include <stdlib.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/home_dir.h"
#include "common/status_macros.h"

namespace accel::common {
namespace {

constexpr char kUnixPrefix[] = "unix:";

std::string Variable(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

absl::Status CheckPath(const std::string& path) {
  if (!absl::StartsWith(path, "/")) {
    return absl::InvalidArgumentError(
        absl::StrCat("the path of the coordinator's socket must be absolute, not \"", path, "\""));
  }
  if (path.size() > kMaxSocketPath) {
    return absl::InvalidArgumentError(absl::StrCat("the path of the coordinator's socket has ",
                                                   path.size(), " bytes; at most ", kMaxSocketPath,
                                                   ": choose a shorter one with --socket"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CoordinatorAddress> ParseCoordinatorAddress(const std::string& text) {
  CoordinatorAddress address;
  absl::string_view path = text;
  if (absl::ConsumePrefix(&path, kUnixPrefix)) {
    address.socket = std::string(path);
    ACCEL_RETURN_IF_ERROR(CheckPath(address.socket));
    return address;
  }
  ACCEL_ASSIGN_OR_RETURN(address.tcp, ParseHostPort(text));
  return address;
}

absl::StatusOr<std::string> DefaultSocketPath() {
  if (geteuid() == 0) return std::string("/run/accel/coordinator");
  const std::string runtime = Variable("XDG_RUNTIME_DIR");
  if (absl::StartsWith(runtime, "/")) return absl::StrCat(runtime, "/accel/coordinator");
  ACCEL_ASSIGN_OR_RETURN(const std::string home, HomeDir());
  return absl::StrCat(home, "/.config/accel/run/coordinator");
}

absl::StatusOr<std::string> FindCoordinator(const std::string& flag) {
  if (!flag.empty()) return flag;
  std::string named = Variable("ACCEL_COORDINATOR");
  if (!named.empty()) return named;
  ACCEL_ASSIGN_OR_RETURN(const std::string path, DefaultSocketPath());
  return absl::StrCat(kUnixPrefix, path);
}

absl::StatusOr<std::string> FindSocketPath(const std::string& flag) {
  std::string path = flag;
  if (path.empty()) {
    const std::string named = Variable("ACCEL_COORDINATOR");
    path = std::string(absl::StripPrefix(named, kUnixPrefix));
    if (!absl::StartsWith(named, kUnixPrefix)) {
      ACCEL_ASSIGN_OR_RETURN(path, DefaultSocketPath());
    }
  }
  ACCEL_RETURN_IF_ERROR(CheckPath(path));
  return path;
}

}  // namespace accel::common
