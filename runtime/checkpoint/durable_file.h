// Writes files that survive a crash of the machine once the call that wrote them has returned.
//
// A large file is written with O_DIRECT in blocks of 4 MiB, several at a time, into disk space that
// was reserved before: that uses the disk's own rate, which is some four times that of the page
// cache with fsync(), and a full disk is known before anything is written (docs/decisions/0016).
// Functions throw CheckpointError with the file's name and the system's reason.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "runtime/core/manifest.h"

namespace accel::runtime {

// Writes one file from its beginning to its end. Bypasses the page cache if the file system allows
// it. The file is incomplete until finish() returns. Not thread-safe.
class DurableFile {
 public:
  // Truncates the file at `path` if there is one. Once it turns out to be large, reserves
  // `expected_size` bytes on the disk; if 0, reserves nothing.
  explicit DurableFile(const std::filesystem::path& path, std::uint64_t expected_size = 0);
  ~DurableFile();
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;

  // Appends `bytes`, and returns once they are copied; they may not be written yet. Blocks while
  // all blocks are waiting for the disk. Throws the error of an earlier write if one has failed.
  void append(std::string_view bytes);

  // Writes the rest, syncs the file, and returns its size and checksum. Nothing may
  // be appended after that.
  FileFacts finish();

 private:
  class Writers;
  struct Block;

  void hand_over();

  const std::filesystem::path path_;
  const std::uint64_t expected_size_;
  std::uint64_t size_ = 0;
  std::unique_ptr<Writers> writers_;
  Block* block_ = nullptr;  // The block that append() fills. Null if none has been started.
};

// Writes a file that consists of `parts`, one after another, durably.
FileFacts write_durably(const std::filesystem::path& path,
                        const std::vector<std::string_view>& parts);

// Deletes, in its destructor, those of its files that still have their temporary names, which is
// what a save that failed would leave behind. Not thread-safe.
class PartialFiles {
 public:
  PartialFiles() = default;
  ~PartialFiles();
  PartialFiles(const PartialFiles&) = delete;
  PartialFiles& operator=(const PartialFiles&) = delete;

  // Returns the temporary name under which `file` is written first, and adds it to these files.
  std::filesystem::path of(const std::filesystem::path& file);

 private:
  std::vector<std::filesystem::path> files_;
};

// Writes such a file under the name `path`.partial first and then renames it: after a crash `path`
// is the older file or the whole newer one. Creates missing folders above it.
void replace_durably(const std::filesystem::path& path, const std::vector<std::string_view>& parts);

// Makes the contents of a file durable that other code has written.
void sync_file(const std::filesystem::path& file);

// Creates `folder` and the missing folders above it, durably.
void create_folders_durably(const std::filesystem::path& folder);

// Makes durable which names `folder` has: those that were created, renamed or removed in it.
void sync_folder(const std::filesystem::path& folder);

}  // namespace accel::runtime
