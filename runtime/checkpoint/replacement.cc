#include "runtime/checkpoint/replacement.h"

#include <fcntl.h>
#include <stdio.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "accel/errors.h"
#include "runtime/checkpoint/removal.h"
#include "runtime/core/checkpoint_layout.h"

namespace accel::runtime {
namespace fs = std::filesystem;
namespace {

// Returns true for the errors with which a file system answers a flag that it does not support.
bool is_unsupported(int error) { return error == EINVAL || error == ENOSYS || error == ENOTSUP; }

void rename_or_fail(const fs::path& from, const fs::path& to, unsigned flags = 0) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) == 0) return;
  if (flags == RENAME_NOREPLACE && is_unsupported(errno)) {
    // A rename without the flag would replace an empty folder. One that another program creates
    // after this check is replaced.
    if (!fs::exists(to)) return rename_or_fail(from, to);
    errno = EEXIST;
  }
  throw CheckpointError(to.string() + ": cannot be put in place: " + std::strerror(errno));
}

fs::path replaced_folder(const fs::path& folder) { return folder.string() + kReplacedSuffix; }

}  // namespace

void take_new_name(const fs::path& partial, const fs::path& folder) {
  rename_or_fail(partial, folder, RENAME_NOREPLACE);
}

void exchange_names(const fs::path& partial, const fs::path& folder) {
  if (::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) == 0) {
    return;
  }
  if (!is_unsupported(errno)) {
    throw CheckpointError(folder.string() + ": cannot be replaced: " + std::strerror(errno));
  }
  const fs::path replaced = replaced_folder(folder);
  rename_or_fail(folder, replaced);
  rename_or_fail(partial, folder);
  rename_or_fail(replaced, partial);
}

void finish_interrupted_exchange(const fs::path& folder) {
  const fs::path replaced = replaced_folder(folder);
  if (!fs::exists(replaced)) return;
  if (fs::exists(folder)) {
    delete_checkpoint(replaced);
  } else {
    rename_or_fail(replaced, folder);
  }
}

}  // namespace accel::runtime
