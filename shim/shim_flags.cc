#include "shim/shim_flags.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/command_help.h"
#include "common/man_page.h"
#include "common/print_text.h"
#include "common/printable.h"
#include "common/version.h"
#include "shim/shim_program.h"

namespace accel::shim {
namespace {

// The shim parses its few flags without the parser library, because the library would double
// the shim's memory.
common::CommandHelp DescribeShim() {
  common::CommandHelp help;
  help.command = "accel-shim";
  help.synopsis = "--job=JOB --control_fd=3|--listen_fd=3";
  help.about =
      "Runs the workers of one job on one node, and ends every process of it. accel-agent and "
      "accel launch start it; do not start it by hand.";
  help.flags = {
      {"help", "", "", "print this and exit", "", {}},
      {"job", "", "JOB", "the job's id", "", {}},
      {"control_fd",
       "",
       "3",
       "the connected socket to its agent; the job ends with the agent",
       "",
       {}},
      {"listen_fd",
       "",
       "3",
       "instead of --control_fd, a listening socket to which agents connect; descriptor 4 is then "
       "the folder for the result",
       "",
       {}},
      {"version", "", "", "print the version and exit", "", {}},
  };
  help.footer =
      "A value follows its flag after an equals sign.\n\n"
      "Exit codes:\n"
      "  0     the agent or SIGTERM ended the job\n"
      "  1     it could not start\n"
      "  2     wrong flags, no socket on descriptor 3, or, with --listen_fd, no folder on 4\n"
      "  3     the agent was gone, and the job has ended\n"
      "  4     the agent sent an invalid command, and the job has been ended";
  return help;
}

// Returns the exit code.
int Print(const std::string& text) { return common::PrintText(text) ? kShimEnded : kShimFailed; }

int Usage(const std::string& complaint) {
  std::fprintf(stderr, "accel-shim: %s; accel-agent and accel launch start it, see --help\n",
               common::Printable(complaint).c_str());
  return kShimUsage;
}

// Returns true if the descriptor is open and of this type. Then also makes it close-on-exec.
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
    if (std::strcmp(argv[i], "--help") == 0) {
      return Print(common::HelpText(DescribeShim(), /*all=*/true));
    }
    if (std::strcmp(argv[i], "--help_man") == 0) {
      return Print(common::ManPage(DescribeShim(), "8", common::kVersion));
    }
    if (std::strcmp(argv[i], "--version") == 0) {
      return Print(absl::StrCat("accel-shim ", common::kVersion, "\n"));
    }
    if (std::strcmp(argv[i], kShimControlFlag) == 0) {
      connected = true;
    } else if (std::strcmp(argv[i], kShimListenFlag) == 0) {
      listens = true;
    } else if (std::strncmp(argv[i], kShimJobFlag, job) == 0) {
      options->job = common::JobId(argv[i] + job);
    } else {
      return Usage(absl::StrCat("unknown flag ", argv[i]));
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
