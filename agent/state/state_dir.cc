#include "agent/state/state_dir.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/state_dir.h"
#include "common/status_macros.h"

namespace accel {
namespace {

absl::Status Failed(absl::string_view what, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", what, " ", path));
}

// A few bytes from the start of the file; empty where there is none.
absl::StatusOr<std::string> ReadSmall(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    if (errno == ENOENT) return std::string();
    return Failed("open", path);
  }
  char buffer[256];
  const ssize_t got = read(fd.get(), buffer, sizeof(buffer));
  if (got < 0) return Failed("read", path);
  return std::string(absl::StripAsciiWhitespace(absl::string_view(buffer, got)));
}

// Written to the side and renamed: a crash leaves the old content or the new, never half.
absl::Status WriteSmall(const std::string& path, const std::string& content) {
  const std::string aside = path + ".new";
  const UniqueFd fd(open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd.valid()) return Failed("create", aside);
  if (write(fd.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size()) ||
      fsync(fd.get()) != 0) {
    return Failed("write", aside);
  }
  if (rename(aside.c_str(), path.c_str()) != 0) return Failed("rename to", path);
  return absl::OkStatus();
}

absl::StatusOr<NodeId> ReadOrMakeNodeId(const std::string& path) {
  ACCEL_ASSIGN_OR_RETURN(std::string id, ReadSmall(path));
  if (!id.empty()) return NodeId(id);
  char bytes[8];
  if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
    return Failed("draw random bytes for", path);
  id = absl::BytesToHexString(absl::string_view(bytes, sizeof(bytes)));
  ACCEL_RETURN_IF_ERROR(WriteSmall(path, id + "\n"));
  return NodeId(id);
}

}  // namespace

absl::StatusOr<StateDir> StateDir::Open(const std::string& path, absl::Duration patience) {
  std::error_code error;
  const std::string absolute = std::filesystem::absolute(path, error).string();
  ACCEL_ASSIGN_OR_RETURN(UniqueFd lock, LockStateDir(absolute, "agent", patience));
  if (mkdir((absolute + "/jobs").c_str(), 0700) != 0 && errno != EEXIST) {
    return Failed("create", absolute + "/jobs");
  }
  ACCEL_ASSIGN_OR_RETURN(NodeId node_id, ReadOrMakeNodeId(absolute + "/node_id"));
  return StateDir(absolute, std::move(lock), std::move(node_id));
}

}  // namespace accel
