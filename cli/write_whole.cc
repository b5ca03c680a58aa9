#include "cli/write_whole.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace accel::cli {

int WriteWhole(int fd, absl::string_view* bytes) {
  while (!bytes->empty()) {
    const ssize_t written = write(fd, bytes->data(), bytes->size());
    if (written >= 0) {
      bytes->remove_prefix(written);
    } else if (errno == EAGAIN) {
      pollfd room = {fd, POLLOUT, 0};
      poll(&room, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace accel::cli
