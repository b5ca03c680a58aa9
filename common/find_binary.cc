#include "common/find_binary.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace accel::common {
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

absl::StatusOr<std::string> FindBinary(const BinaryPlace& binary, const std::string& flag_value) {
  if (!flag_value.empty()) return Named(flag_value, binary.flag);
  if (const char* path = std::getenv(binary.variable); path != nullptr && *path != '\0') {
    return Named(path, binary.variable);
  }
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path in_workspace = fs::path(binary.workspace) / binary.name;
  std::vector<fs::path> places = {
      self.parent_path() / binary.name,
      // For bazel-bin/cli/accel and bazel-bin/agent/accel-agent.
      self.parent_path().parent_path() / in_workspace,
  };
  for (const char* tree : {"RUNFILES_DIR", "TEST_SRCDIR"}) {
    if (const char* root = std::getenv(tree); root != nullptr) {
      places.push_back(fs::path(root) / "accel" / in_workspace);
    }
  }
  for (const fs::path& place : places) {
    if (Executable(place)) return place.string();
  }
  const std::string flag = *binary.flag == '\0' ? "" : absl::StrCat(binary.flag, " or ");
  return absl::NotFoundError(absl::StrCat(
      binary.name, " was not found at any of: ",
      absl::StrJoin(places, ", ",
                    [](std::string* out, const fs::path& p) { out->append(p.string()); }),
      "; name it with ", flag, binary.variable));
}

}  // namespace accel::common
