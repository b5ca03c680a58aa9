#include "shim/shim_flags.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstring>

#include "common/version.h"
#include "shim/shim_program.h"

namespace accel::shim {
namespace {

int Usage(const char* complaint) {
  std::fprintf(stderr, "accel-shim: %s; see --help\n", complaint);
  return kShimUsage;
}

// Returns true if the descriptor is open and of this type, and makes it close-on-exec.
bool HasType(int fd, mode_t type) {
  struct stat info;
  if (fstat(fd, &info) != 0 || (info.st_mode & S_IFMT) != type) return false;
  return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

}  // namespace

std::optional<int> ParseShimFlags(int argc, char** argv, ShimOptions* options) {
  bool connected = false;
  bool listens = false;
  for (int i = 1; i < argc; ++i) {
    const size_t job = std::strlen(kShimJobFlag);
    if (std::strcmp(argv[i], "--help") == 0) return std::fputs(kShimHelp, stdout) < 0;
    if (std::strcmp(argv[i], "--version") == 0) {
      return std::printf("accel-shim %s\n", common::kVersion) < 0;
    }
    if (std::strcmp(argv[i], kShimControlFlag) == 0) {
      connected = true;
    } else if (std::strcmp(argv[i], kShimListenFlag) == 0) {
      listens = true;
    } else if (std::strncmp(argv[i], kShimJobFlag, job) == 0) {
      options->job = common::JobId(argv[i] + job);
    } else {
      return Usage(argv[i]);
    }
  }
  if (connected == listens || !HasType(kShimSocketFd, S_IFSOCK) ||
      (listens && !HasType(kShimFolderFd, S_IFDIR))) {
    return Usage("started without a socket to an agent");
  }
  (connected ? options->control : options->listener).reset(kShimSocketFd);
  if (listens) options->folder.reset(kShimFolderFd);
  return std::nullopt;
}

}  // namespace accel::shim
