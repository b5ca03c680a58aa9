// Reads and writes the files of control groups.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace accel::process {

// Returns the text of a file in the open folder, or "" if it cannot be read.
std::string ReadGroupFile(int folder, const char* name);

// Returns true if the text was written to a file in the open folder.
bool WriteGroupFile(int folder, const char* name, absl::string_view text);

// Returns the path of this process in a hierarchy, from the text of /proc/self/cgroup. `controller`
// is empty for v2. Returns nullopt if the hierarchy is not listed.
std::optional<std::string> CgroupPathIn(absl::string_view proc_self_cgroup,
                                        absl::string_view controller);

// Returns the number after `key` in a text of lines "KEY NUMBER", for example that of
// memory.events. Returns nullopt if there is no such line.
std::optional<int64_t> CountIn(absl::string_view text, absl::string_view key);

// Returns the number that is the whole text of a file, for example of memory.peak. Returns nullopt
// for "max", and for the number that stands for no limit in v1.
std::optional<int64_t> NumberIn(absl::string_view text);

// Returns the smallest limit in the file `name` of the group `path` and of all groups above it.
// Returns nullopt if none has a limit.
std::optional<int64_t> SmallestLimit(std::string path, const char* name);

}  // namespace accel::process
