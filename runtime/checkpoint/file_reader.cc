#include "runtime/checkpoint/file_reader.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "accel/errors.h"
#include "runtime/checkpoint/parallel_io.h"
#include "runtime/core/crc32c.h"

namespace accel::runtime {
namespace {

// Small enough to be in the CPU's cache still when the checksum is computed after the read.
constexpr std::size_t kHashBytes = 256 << 10;

}  // namespace

FileReader::FileReader(std::filesystem::path file)
    : file_(std::move(file)), fd_(::open(file_.c_str(), O_RDONLY | O_CLOEXEC)) {
  struct stat status {};
  if (!fd_.valid() || ::fstat(fd_.get(), &status) != 0) {
    const int error = errno;
    const std::string reason = file_.string() + ": cannot open: " + std::strerror(error);
    if (error == ENOENT) throw DamageError(reason);
    throw CheckpointError(reason);
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

void FileReader::read(std::uint64_t offset, std::uint64_t size, void* to,
                      const std::string& what) const {
  std::uint64_t done = 0;
  while (done < size) {
    const ssize_t count = ::pread(fd_.get(), static_cast<char*>(to) + done, size - done,
                                  static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      throw CheckpointError(file_.string() + ": cannot read " + what + ": " +
                            (count < 0 ? std::strerror(errno) : "the file ends early"));
    }
    done += static_cast<std::uint64_t>(count);
  }
}

void FileReader::announce(std::uint64_t offset, std::uint64_t size) const {
  ::posix_fadvise(fd_.get(), static_cast<off_t>(offset), static_cast<off_t>(size),
                  POSIX_FADV_WILLNEED);
}

FileFacts facts_of(const std::filesystem::path& path) {
  const FileReader reader(path);
  const std::size_t pieces = (reader.size() + kIoBytes - 1) / kIoBytes;
  const auto size_of = [&](std::size_t i) {
    return std::min<std::uint64_t>(kIoBytes, reader.size() - i * kIoBytes);
  };
  std::vector<std::uint32_t> checksums(pieces);
  const auto announce = [&](std::size_t i) { reader.announce(i * kIoBytes, size_of(i)); };
  const auto hash = [&](std::size_t i) {
    std::vector<char> buffer(std::min<std::uint64_t>(kHashBytes, size_of(i)));
    for (std::uint64_t done = 0; done < size_of(i); done += buffer.size()) {
      buffer.resize(std::min<std::uint64_t>(buffer.size(), size_of(i) - done));
      reader.read(i * kIoBytes + done, buffer.size(), buffer.data(), "all of it");
      checksums[i] = extend_crc32c(checksums[i], buffer.data(), buffer.size());
    }
  };
  read_in_parallel(pieces, announce, hash);
  FileFacts facts{.size = reader.size()};
  for (std::size_t i = 0; i < pieces; ++i) {
    facts.crc32c = combine_crc32c(facts.crc32c, checksums[i], size_of(i));
  }
  return facts;
}

std::string read_text(const std::filesystem::path& path, std::uint64_t max_size) {
  const FileReader reader(path);
  if (reader.size() > max_size) {
    throw DamageError(path.string() + ": it has " + std::to_string(reader.size()) +
                      " bytes, more than any such file");
  }
  std::string text(reader.size(), '\0');
  reader.read(0, text.size(), text.data(), "all of it");
  return text;
}

}  // namespace accel::runtime
