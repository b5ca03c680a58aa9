// The list of a checkpoint's files, which says that it is complete and what each file must be.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace accel {

struct FileFacts {
  std::uint64_t size = 0;  // Bytes.
  std::uint32_t crc32c = 0;

  friend bool operator==(const FileFacts&, const FileFacts&) = default;
};

struct Manifest {
  std::uint64_t iteration = 0;             // Which of the automatically named checkpoints it is.
  int num_processes = 1;                   // Of the world that wrote it.
  std::map<std::string, FileFacts> files;  // By their paths in the checkpoint's folder.

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// The largest manifest that is read, in bytes.
inline constexpr std::uint64_t kMaxManifest = 64 << 20;

// JSON with a checksum of its own.
std::string manifest_text(const Manifest& manifest);

// Throws DamageError, naming `file`, if the text is torn or altered; CheckpointError if it is of
// another version or lists a file outside of its folder.
Manifest parse_manifest(const std::string& text, const std::string& file);

}  // namespace accel
