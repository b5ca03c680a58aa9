// Files that survive a crash of the machine once their call has returned.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "runtime/core/manifest.h"

namespace accel {

// A file that is written from its beginning to its end, around the page cache where the file system
// allows it, several pieces at a time. Without finish() it is left torn. Not thread-safe. All throw
// CheckpointError with the file's name and the system's reason.
class DurableFile {
 public:
  // What was at `path` is replaced. Of a large file, `expected_size` bytes are reserved at once, so
  // that a full disk is known early.
  explicit DurableFile(const std::filesystem::path& path, std::uint64_t expected_size = 0);
  ~DurableFile();
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;

  // Returns once the bytes are copied.
  void append(std::string_view bytes);

  // Returns when all of it is on the disk.
  FileFacts finish();

 private:
  class Writers;
  struct Block;

  void hand_over();

  const std::filesystem::path path_;
  const std::uint64_t expected_size_;
  std::uint64_t size_ = 0;
  std::unique_ptr<Writers> writers_;
  Block* block_ = nullptr;  // What append() fills; null before the first byte.
};

// The parts, one after another, as such a file.
FileFacts write_durably(const std::filesystem::path& path,
                        const std::vector<std::string_view>& parts);

// Removes, when it goes, those of its files that still have their names: what a save that failed
// would leave behind. Not thread-safe.
class PartialFiles {
 public:
  PartialFiles() = default;
  ~PartialFiles();
  PartialFiles(const PartialFiles&) = delete;
  PartialFiles& operator=(const PartialFiles&) = delete;

  // The name under which `file` is written at first, one of these files from now on.
  std::filesystem::path of(const std::filesystem::path& file);

 private:
  std::vector<std::filesystem::path> files_;
};

// The same under another name first, which `path` and ".partial" make: `path` is what it was, or
// all of the new file. Folders above it that are not there are made.
void replace_durably(const std::filesystem::path& path, const std::vector<std::string_view>& parts);

// Makes what is in a file that others have written durable.
void sync_file(const std::filesystem::path& file);

// Makes `folder` and those above it that are not there, so that they survive a crash too.
void create_folders_durably(const std::filesystem::path& folder);

// Makes names that were made, renamed or removed in `folder` durable.
void sync_folder(const std::filesystem::path& folder);

}  // namespace accel
