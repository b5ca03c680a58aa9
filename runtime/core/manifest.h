// The manifest: the list of a checkpoint's files with the size and checksum of each. It is written
// last. So a folder that has a manifest is complete, and a file that differs from it is damaged.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace accel::runtime {

struct FileFacts {
  std::uint64_t size = 0;  // Bytes.
  std::uint32_t crc32c = 0;

  friend bool operator==(const FileFacts&, const FileFacts&) = default;
};

struct Manifest {
  // The number N of an automatically named checkpoint; for others, the number that is next.
  std::uint64_t iteration = 0;
  // The world size of the run that wrote it.
  int num_processes = 1;
  // The facts of each file by its path inside the checkpoint's folder.
  std::map<std::string, FileFacts> files;

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// The largest manifest that is read, in bytes: 64 MiB.
inline constexpr std::uint64_t kMaxManifest = 64 << 20;

// Returns the manifest as JSON that ends with a checksum of itself.
std::string manifest_text(const Manifest& manifest);

// Reads such a text. `file` is the name that errors begin with. Throws DamageError if the text is
// torn or altered. Throws CheckpointError if another version of accel wrote it, or if it lists a
// file outside its folder.
Manifest parse_manifest(const std::string& text, const std::string& file);

// Returns how a file differs from what the manifest lists ("torn: it has 3 bytes of 7"), or nullopt
// if it does not differ.
std::optional<std::string> damage_of(const FileFacts& listed, const FileFacts& found);

// Returns the names directly in a checkpoint's folder that are part of the checkpoint: the manifest
// and the files and folders that it lists.
std::set<std::string> listed_names(const Manifest& manifest);

}  // namespace accel::runtime
