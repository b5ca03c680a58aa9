// Files that survive a crash of the machine once their call has returned.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/manifest.h"

namespace accel {

// Writes the parts, one after another, to a new file and waits until they are on the disk; what was
// at `path` is replaced. Throws CheckpointError.
FileFacts write_durably(const std::filesystem::path& path,
                        const std::vector<std::string_view>& parts);

// Makes names that were made, renamed or removed in `folder` durable. Throws CheckpointError.
void sync_folder(const std::filesystem::path& folder);

// Reads the whole file. Throws CheckpointError.
FileFacts facts_of(const std::filesystem::path& path);

// The text of a file of at most `max_size` bytes. Throws CheckpointError.
std::string read_text(const std::filesystem::path& path, std::uint64_t max_size);

}  // namespace accel
