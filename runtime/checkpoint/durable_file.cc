#include "runtime/checkpoint/durable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/unique_fd.h"
#include "runtime/core/checkpoint_error.h"
#include "runtime/core/crc32c.h"

namespace accel {
namespace {

// Small enough to stay in the processor's cache between checksum and copy.
constexpr std::size_t kChunk = 1 << 20;
// How much is handed to the disk at a time, so that the disk works while the rest is copied.
constexpr std::uint64_t kFlush = 16 << 20;

[[noreturn]] void fail(const std::filesystem::path& path, const char* what) {
  throw CheckpointError(path.string() + ": cannot " + what + ": " + std::strerror(errno));
}

UniqueFd open_or_fail(const std::filesystem::path& path, int flags) {
  UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC, 0666));
  if (!fd.valid()) fail(path, "open");
  return fd;
}

void write_all(int fd, std::string_view bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path, "write");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::size_t read_some(int fd, char* buffer, std::size_t size, const std::filesystem::path& path) {
  ssize_t count = -1;
  do {
    count = ::read(fd, buffer, size);
  } while (count < 0 && errno == EINTR);
  if (count < 0) fail(path, "read");
  return static_cast<std::size_t>(count);
}

}  // namespace

FileFacts write_durably(const std::filesystem::path& path,
                        const std::vector<std::string_view>& parts) {
  const UniqueFd fd = open_or_fail(path, O_WRONLY | O_CREAT | O_TRUNC);
  FileFacts facts;
  std::uint64_t flushed = 0;
  for (std::string_view rest : parts) {
    while (!rest.empty()) {
      const std::string_view chunk = rest.substr(0, kChunk);
      rest.remove_prefix(chunk.size());
      facts.crc32c = extend_crc32c(facts.crc32c, chunk.data(), chunk.size());
      write_all(fd.get(), chunk, path);
      facts.size += chunk.size();
      if (facts.size - flushed >= kFlush) {
        // Only a hint: what cannot be flushed early is by fsync().
        (void)::sync_file_range(fd.get(), static_cast<off64_t>(flushed),
                                static_cast<off64_t>(facts.size - flushed), SYNC_FILE_RANGE_WRITE);
        flushed = facts.size;
      }
    }
  }
  if (::fsync(fd.get()) != 0) fail(path, "sync");
  return facts;
}

void sync_folder(const std::filesystem::path& folder) {
  const UniqueFd fd = open_or_fail(folder, O_RDONLY | O_DIRECTORY);
  if (::fsync(fd.get()) != 0) fail(folder, "sync");
}

FileFacts facts_of(const std::filesystem::path& path) {
  const UniqueFd fd = open_or_fail(path, O_RDONLY);
  (void)::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  FileFacts facts;
  std::string buffer(kChunk, '\0');
  while (const std::size_t count = read_some(fd.get(), buffer.data(), buffer.size(), path)) {
    facts.crc32c = extend_crc32c(facts.crc32c, buffer.data(), count);
    facts.size += count;
  }
  return facts;
}

std::string read_text(const std::filesystem::path& path, std::uint64_t max_size) {
  const UniqueFd fd = open_or_fail(path, O_RDONLY);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) fail(path, "read");
  if (static_cast<std::uint64_t>(status.st_size) > max_size) {
    throw CheckpointError(path.string() + ": it has " + std::to_string(status.st_size) +
                          " bytes, more than any such file");
  }
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const std::size_t count = read_some(fd.get(), text.data() + filled, text.size() - filled, path);
    if (count == 0) break;
    filled += count;
  }
  text.resize(filled);
  return text;
}

}  // namespace accel
