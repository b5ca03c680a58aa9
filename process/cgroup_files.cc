#include "process/cgroup_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/unique_fd.h"

namespace accel::process {
namespace {

// From here on, a number of bytes stands for no limit. v1 has the largest number of whole pages.
constexpr int64_t kNoLimit = int64_t{1} << 62;

}  // namespace

std::string ReadGroupFile(int folder, const char* name) {
  const common::UniqueFd file(openat(folder, name, O_RDONLY | O_CLOEXEC));
  char text[4096];
  const ssize_t size = file.valid() ? read(file.get(), text, sizeof(text)) : 0;
  return std::string(text, size > 0 ? static_cast<size_t>(size) : 0);
}

bool WriteGroupFile(int folder, const char* name, absl::string_view text) {
  const common::UniqueFd file(openat(folder, name, O_WRONLY | O_CLOEXEC));
  return file.valid() &&
         write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::optional<std::string> CgroupPathIn(absl::string_view proc_self_cgroup,
                                        absl::string_view controller) {
  for (absl::string_view line : absl::StrSplit(proc_self_cgroup, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    for (absl::string_view name : absl::StrSplit(fields[1], ',')) {
      if (name == controller) return fields[2] == "/" ? "" : std::string(fields[2]);
    }
  }
  return std::nullopt;
}

std::optional<int64_t> CountIn(absl::string_view text, absl::string_view key) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ');
    int64_t count = 0;
    if (fields.size() == 2 && fields[0] == key && absl::SimpleAtoi(fields[1], &count)) return count;
  }
  return std::nullopt;
}

std::optional<int64_t> NumberIn(absl::string_view text) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &number)) return std::nullopt;
  if (number < 0 || number >= kNoLimit) return std::nullopt;
  return number;
}

std::optional<int64_t> SmallestLimit(std::string path, const char* name) {
  std::optional<int64_t> smallest;
  while (!path.empty()) {
    const auto limit = NumberIn(ReadGroupFile(AT_FDCWD, absl::StrCat(path, "/", name).c_str()));
    if (limit.has_value()) smallest = std::min(limit.value(), smallest.value_or(*limit));
    path.resize(std::min(path.rfind('/'), path.size() - 1));
  }
  return smallest;
}

}  // namespace accel::process
