// Reads files from disk. Functions throw CheckpointError with the file's name and the system's
// reason, and DamageError, which is permanent, if the file does not exist.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "common/unique_fd.h"
#include "runtime/core/manifest.h"

namespace accel::runtime {

// Reads any range of one file. Uses pread() and not a mapping. A file that shrinks while it is read
// is then an error and not a SIGBUS. Pages that are read once need not be mapped. Thread-safe.
class FileReader {
 public:
  explicit FileReader(std::filesystem::path file);

  const std::filesystem::path& file() const { return file_; }
  std::uint64_t size() const { return size_; }

  // Reads `size` bytes at `offset` into `to`. If that fails, the error names the bytes as `what`.
  void read(std::uint64_t offset, std::uint64_t size, void* to, const std::string& what) const;

  // Asks the kernel to read these bytes into its cache, and does not wait for them. Does nothing if
  // the kernel refuses.
  void announce(std::uint64_t offset, std::uint64_t size) const;

 private:
  std::filesystem::path file_;
  common::UniqueFd fd_;
  std::uint64_t size_ = 0;
};

// Returns the size and checksum of the file. Reads all of it, in several threads.
FileFacts facts_of(const std::filesystem::path& path);

// Returns the text of a file. Throws DamageError if it has more than `max_size` bytes.
std::string read_text(const std::filesystem::path& path, std::uint64_t max_size);

}  // namespace accel::runtime
