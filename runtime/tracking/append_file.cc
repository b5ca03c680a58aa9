#include "runtime/tracking/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace accel::runtime {
namespace {

[[noreturn]] void fail(const std::string& what, const std::filesystem::path& path) {
  throw std::filesystem::filesystem_error(what, path,
                                          std::error_code(errno, std::generic_category()));
}

off_t size_of(int fd, const std::filesystem::path& path) {
  struct stat facts;
  if (fstat(fd, &facts) != 0) fail("cannot look at", path);
  return facts.st_size;
}

}  // namespace

AppendFile::AppendFile(std::filesystem::path path, int flags) : path_(std::move(path)) {
  std::filesystem::create_directories(path_.parent_path());
  fd_.reset(open(path_.c_str(), flags | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (!fd_.valid()) fail("cannot open", path_);
}

AppendFile AppendFile::create(const std::filesystem::path& path) {
  return AppendFile(path, O_WRONLY | O_EXCL);
}

AppendFile AppendFile::open_lines(const std::filesystem::path& path) {
  AppendFile file(path, O_RDWR);
  file.cut_torn_line();
  return file;
}

void AppendFile::cut_torn_line() {
  const off_t size = size_of(fd_.get(), path_);
  char piece[4096];
  off_t end = size;  // No line ends in [end, size).
  while (end > 0) {
    const off_t begin = std::max<off_t>(0, end - static_cast<off_t>(sizeof piece));
    const ssize_t got = pread(fd_.get(), piece, static_cast<std::size_t>(end - begin), begin);
    if (got != end - begin) fail("cannot read", path_);
    const auto line_end = std::string_view(piece, static_cast<std::size_t>(got)).rfind('\n');
    if (line_end != std::string_view::npos) {
      end = begin + static_cast<off_t>(line_end) + 1;
      break;
    }
    end = begin;
  }
  if (end != size && ftruncate(fd_.get(), end) != 0) fail("cannot cut the torn line of", path_);
}

// A partial record would make all later ones unreadable, so it is cut off. If that fails too, the
// next call tries again before it writes.
void AppendFile::append(std::string_view record) {
  if (torn_at_ && ftruncate(fd_.get(), *torn_at_) != 0) fail("cannot cut the torn end of", path_);
  torn_at_.reset();
  const off_t before = size_of(fd_.get(), path_);
  for (std::string_view rest = record; !rest.empty();) {
    const ssize_t written = write(fd_.get(), rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      const int reason = errno;
      if (ftruncate(fd_.get(), before) != 0) torn_at_ = before;
      errno = reason;
      fail("cannot write", path_);
    }
  }
}

}  // namespace accel::runtime
