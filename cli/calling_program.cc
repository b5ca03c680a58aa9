#include "cli/calling_program.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "cli/json.h"

namespace accel::cli {

absl::Status EndWithParent(int pid) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  // A parent that had ended before sends no signal.
  if (getppid() == pid) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat("--parent ", pid, ": that process is not the parent of ",
                                         "this one; it may have ended"));
}

absl::Status WriteEnd(const v1::Job& job, const std::string& path) {
  const std::string part = absl::StrCat(path, ".part");
  // The error below quotes the errno of the file, which making this line later could change.
  const std::string line = absl::StrCat(ToJson(job, /*pretty=*/false), "\n");
  std::ofstream file(part);
  file << line;
  file.close();
  if (file.good() && std::rename(part.c_str(), path.c_str()) == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot write --end_file ", path, ": ",
                                             std::strerror(errno), "; choose another file"));
}

}  // namespace accel::cli
