// Writes files that survive a crash of the machine once the call that wrote them has returned.
//
// A large file is written with O_DIRECT in blocks of 4 MiB, several at a time. This reaches the
// disk's own rate, some four times that of the page cache with fsync(). The disk space is reserved
// first, so that a full disk is known before anything is written (docs/decisions/0016). Functions
// throw CheckpointError with the file's name and the system's reason.
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
  // Truncates the file at `path` if there is one. Reserves `expected_size` bytes on the disk,
  // unless it is 0, when the second block begins.
  explicit DurableFile(const std::filesystem::path& path, std::uint64_t expected_size = 0);
  ~DurableFile();
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;

  // Appends `bytes`, and returns once they are copied. They may not be written yet. Blocks while
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

// The temporary names of files that are being written. The destructor deletes the files that still
// have them, because a save that failed would leave them behind. Not thread-safe.
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

// Writes a file that consists of `parts`, durably. The file is written as `path`.partial first and
// then renamed, so after a crash `path` is the older file or the whole newer one. Creates missing
// folders above it.
void replace_durably(const std::filesystem::path& path, const std::vector<std::string_view>& parts);

// Makes the contents of a file that other code has written durable.
void sync_file(const std::filesystem::path& file);

// Creates `folder` and the missing folders above it, durably.
void create_folders_durably(const std::filesystem::path& folder);

// Makes the names in `folder` durable, after files in it were created, renamed or removed.
void sync_folder(const std::filesystem::path& folder);

}  // namespace accel::runtime
