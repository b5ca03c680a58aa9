#include "cli/machines/launch_secret.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/token.h"

namespace accel::cli {
namespace {

constexpr char kFileVariable[] = "ACCEL_LAUNCH_KEY_FILE";
constexpr char kVariable[] = "ACCEL_LAUNCH_KEY";
constexpr size_t kMaxSecretBytes = 4096;

absl::StatusOr<LaunchSecret> Check(LaunchSecret secret) {
  bool printable = true;
  for (unsigned char c : secret.value) printable &= c > ' ' && c < 127;
  if (!printable || secret.value.size() > kMaxSecretBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the launch key ", secret.source,
                                                   " is wrong: it has at most ", kMaxSecretBytes,
                                                   " printable characters without spaces"));
  }
  if (secret.value.size() < kLeastSecretBytes) {
    return absl::FailedPreconditionError(
        absl::StrCat("the launch key ", secret.source, " has ", secret.value.size(),
                     " characters; use a random one of at least ", kLeastSecretBytes,
                     ", for example of: openssl rand -hex 32"));
  }
  return secret;
}

}  // namespace

absl::StatusOr<LaunchSecret> FindLaunchSecret() {
  if (const char* path = std::getenv(kFileVariable); path != nullptr && *path != '\0') {
    ACCEL_ASSIGN_OR_RETURN(std::string value, common::ReadToken(path));
    return Check({std::move(value), absl::StrCat("in ", path)});
  }
  if (const char* value = std::getenv(kVariable); value != nullptr && *value != '\0') {
    return Check({value, absl::StrCat("in ", kVariable)});
  }
  ACCEL_ASSIGN_OR_RETURN(const std::string path, common::DefaultTokenPath());
  ACCEL_ASSIGN_OR_RETURN(std::string value, common::ReadOrMakeToken(path));
  return Check({std::move(value), absl::StrCat("in ", path)});
}

}  // namespace accel::cli
