#include "agent/find_shim.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace accel::agent {
namespace {

namespace fs = std::filesystem;

bool Executable(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

absl::StatusOr<std::string> Named(const std::string& path, absl::string_view by) {
  std::error_code error;  // fs::absolute() fails if there is no working directory.
  const fs::path absolute = fs::absolute(path, error);
  if (!error && Executable(path)) return absolute.string();
  return absl::NotFoundError(
      absl::StrCat(by, " names ", path, ", which is not an executable file"));
}

}  // namespace

absl::StatusOr<std::string> FindShim(const std::string& flag) {
  if (!flag.empty()) return Named(flag, "--shim");
  if (const char* variable = std::getenv("ACCEL_SHIM"); variable != nullptr && *variable != '\0') {
    return Named(variable, "ACCEL_SHIM");
  }
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  std::vector<fs::path> places = {
      self.parent_path() / "accel-shim",
      // For bazel-bin/cli/accel and bazel-bin/agent/accel-agent.
      self.parent_path().parent_path() / "shim/accel-shim",
  };
  if (const char* runfiles = std::getenv("RUNFILES_DIR"); runfiles != nullptr) {
    places.push_back(fs::path(runfiles) / "accel/shim/accel-shim");
  }
  if (const char* tests = std::getenv("TEST_SRCDIR"); tests != nullptr) {
    places.push_back(fs::path(tests) / "accel/shim/accel-shim");
  }
  for (const fs::path& place : places) {
    if (Executable(place)) return place.string();
  }
  return absl::NotFoundError(absl::StrCat(
      "accel-shim was not found at any of: ",
      absl::StrJoin(places, ", ",
                    [](std::string* out, const fs::path& p) { out->append(p.string()); }),
      "; name it with --shim or ACCEL_SHIM"));
}

}  // namespace accel::agent
