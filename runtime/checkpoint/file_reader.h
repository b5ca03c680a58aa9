#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "common/unique_fd.h"
#include "runtime/core/manifest.h"

namespace accel {

// A file that is read from anywhere. By pread() rather than from a mapping: a file that shrinks
// meanwhile is an error and no SIGBUS, and a page that is read once need not be mapped.
// Thread-safe. All throw CheckpointError with the file's name and the system's reason; DamageError
// if the file is not there.
class FileReader {
 public:
  explicit FileReader(std::filesystem::path file);

  const std::filesystem::path& file() const { return file_; }
  std::uint64_t size() const { return size_; }

  // Fills `to` with `size` bytes from `offset` on, which are part of `what`.
  void read(std::uint64_t offset, std::uint64_t size, void* to, const std::string& what) const;

  // Lets the kernel begin to read these bytes into its cache, and does not wait for them. A kernel
  // that does not is no error.
  void announce(std::uint64_t offset, std::uint64_t size) const;

 private:
  std::filesystem::path file_;
  UniqueFd fd_;
  std::uint64_t size_ = 0;
};

// Reads the whole file, in several threads. Throws as FileReader does.
FileFacts facts_of(const std::filesystem::path& path);

// The text of a file of at most `max_size` bytes. Throws as FileReader does; DamageError if it has
// more.
std::string read_text(const std::filesystem::path& path, std::uint64_t max_size);

}  // namespace accel
