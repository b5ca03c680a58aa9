#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string_view>

#include "common/unique_fd.h"

namespace accel::runtime {

// A file that grows by whole records. Each is handed to the system at once, so that a reader sees
// it and a process that is killed afterwards has not lost it. Only one process may write it. Not
// thread-safe.
class AppendFile {
 public:
  // Makes the file, and throws std::filesystem::filesystem_error if it is there already, as all
  // that follow throw it for an error of the disk.
  static AppendFile create(const std::filesystem::path& path);
  // Opens or makes a file of lines. A last line without its end, which a machine that crashed or a
  // full disk has left, is cut off.
  static AppendFile open_lines(const std::filesystem::path& path);

  // All of `record` or nothing.
  void append(std::string_view record);

  const std::filesystem::path& path() const { return path_; }

 private:
  AppendFile(std::filesystem::path path, int flags);
  void cut_torn_line();

  std::filesystem::path path_;
  common::UniqueFd fd_;
  std::optional<off_t> torn_at_;  // Where a record began of which a part could not be taken back.
};

}  // namespace accel::runtime
