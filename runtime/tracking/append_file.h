// Unbuffered appending of whole records, for the files of trackers.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string_view>

#include "common/unique_fd.h"

namespace accel::runtime {

// A file that grows by whole records. Each record is written immediately and without a buffer, so
// readers see it, and a process that is killed afterwards does not lose it (docs/decisions/0020).
// Only one process may write the file. Not thread-safe.
class AppendFile {
 public:
  // Makes the file. Throws std::filesystem::filesystem_error if the file already exists. All
  // methods throw the same class for disk errors.
  static AppendFile create(const std::filesystem::path& path);
  // Opens or makes a file of lines. Cuts off an incomplete last line, which a machine's crash or a
  // full disk can leave.
  static AppendFile open_lines(const std::filesystem::path& path);

  // Appends the whole record. If that fails, removes the part that was written and throws.
  void append(std::string_view record);

  const std::filesystem::path& path() const { return path_; }

 private:
  AppendFile(std::filesystem::path path, int flags);
  void cut_torn_line();

  std::filesystem::path path_;
  common::UniqueFd fd_;
  std::optional<off_t> torn_at_;  // Start of a partial record that could not be removed.
};

}  // namespace accel::runtime
